"""Exercise maps.record: the output of every block, recorded with hooks."""

import torch

from vit_course.checks.maps.traces import no_trace, no_trace_of_an_error
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Mistake, named_by_details
from vit_course.config import ViTConfig
from vit_course.vit import ViT


def record(answer, draw):
    """`answer(model, images)`: a `ViT` and (B, C, H, W) -> (B, L, T, D), what each block gives; no trace is left."""
    draws = []
    for _ in range(2):
        (rows, columns), (batch, layers) = draw.sizes(2, 2, 4), draw.sizes(2, 3, 6)
        heads, width = draw.choose([(2, 5), (3, 4), (4, 3)])
        sizes = dict(num_classes=4, hidden_dim=heads * width, num_layers=layers, num_heads=heads, mlp_dim=11)
        model = ViT(ViTConfig(image_size=(2 * rows, 2 * columns), patch_size=2, dropout=0.3, **sizes)).eval()
        with torch.no_grad():  # so large that what two blocks give differs clearly, which in a new model it does not
            for parameter in model.parameters():
                parameter.copy_(0.5 * draw.normal(*parameter.shape))
        draws.append((model, draw.normal(batch, 3, *model.config.image_size)))
    model, images = draws[0]
    with named_by_details(*ERRORS):
        same_function(answer, outputs, draws, MISTAKES, "(B, L, T, D)", differentiable=False, mistakes_change=False)
    no_trace(answer, model, images)
    no_trace_of_an_error(answer, model, images)


def outputs(
    model,
    images,
    take=lambda block, z: block(z),
    norm=lambda model, kept: kept,
    join=lambda kept: torch.stack(kept, dim=1),
    pick=lambda found: found,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    z, kept = model.embed(images), []  # (B, T, D)
    for block in model.encoder.blocks:
        kept.append(take(block, z))
        z = block(z)
    return pick(join(norm(model, kept)))


def _after_attention(block, z):
    return z + block.attention(block.norm1(z))


ERRORS = [
    Known(
        "TypeError: .* takes [12] positional arguments? but 3 were given",
        "hook-takes-three",
        "A forward hook is called with three arguments: the module, its inputs and its output.",
    ),
    Known(
        "TypeError: tokens must be a torch.Tensor",
        "hook-gives-no-tokens",
        "A block got something that is not tokens. What a forward hook returns replaces the output.",
    ),
]

MISTAKES = [
    Mistake("inputs-recorded", "The input of each block is recorded, not its output.", {"take": lambda block, z: z}),
    Mistake(
        "attention-recorded",
        "The outputs of the attention layers are recorded, before the residual and the MLP.",
        {"take": lambda block, z: block.attention(block.norm1(z))},
    ),
    Mistake(
        "mlp-recorded",
        "The outputs of the MLPs are recorded, before they are added to the stream.",
        {"take": lambda block, z: block.mlp(block.norm2(_after_attention(block, z)))},
    ),
    Mistake(
        "norm-recorded",
        "The output of a norm in each block is recorded.",
        {"take": lambda block, z: block.norm1(z)},
        {"take": lambda block, z: block.norm2(_after_attention(block, z))},
    ),
    Mistake(
        "after-the-last-norm",
        "The entry of the last layer was taken after the norm that follows the blocks.",
        {"norm": lambda model, kept: [*kept[:-1], model.encoder.norm(kept[-1])]},
    ),
    Mistake(
        "all-normed",
        "The tokens of every block went through the last norm, which follows only the last block.",
        {"norm": lambda model, kept: [model.encoder.norm(z) for z in kept]},
    ),
    Mistake("layers-before-batch", "The layers come before the batch.", {"join": torch.stack}),
    Mistake(
        "layers-after-tokens", "The layers come after the tokens.", {"join": lambda kept: torch.stack(kept, dim=2)}
    ),
    Mistake("layers-reversed", "The last block comes first.", {"join": lambda kept: torch.stack(kept[::-1], dim=1)}),
    Mistake(
        "tokens-side-by-side",
        "The tokens of all layers are on one axis: there is no separate axis for the layers.",
        {"join": lambda kept: torch.cat(kept, dim=1)},
    ),
    Mistake("last-block-missing", "The last block is missing.", {"pick": lambda found: found[:, :-1]}),
    Mistake("class-token-only", "Only the class token is there.", {"pick": lambda found: found[:, :, 0]}),
    Mistake("class-token-dropped", "The class token is missing.", {"pick": lambda found: found[:, :, 1:]}),
    Mistake(
        "encoder-recorded",
        "The output of the whole encoder is recorded, after the last norm.",
        lambda model, images: model.features(images)[:, None],
        lambda model, images: model.features(images),
    ),
]
