"""Exercise maps.record: the output of every block, recorded with hooks."""

import torch

from vit_course.checks.maps.traces import no_trace, no_trace_of_an_error
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, wrong_functions
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
        mistakes = wrong_functions(MISTAKES, outputs)
        same_function(answer, outputs, draws, mistakes, "(B, L, T, D)", differentiable=False, mistakes_change=False)
    no_trace(answer, model, images)
    no_trace_of_an_error(answer, model, images)


def outputs(
    model,
    images,
    start=lambda model, z: model.positions(model.class_token(z)),
    take=lambda block, z: block(z),
    norm=lambda model, kept: kept,
    join=lambda kept: torch.stack(kept, dim=1),
    pick=lambda found: found,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    z, kept = start(model, model.patch_embedding(images)), []  # (B, T, D)
    for block in model.encoder.blocks:
        kept.append(take(block, z))
        z = block(z)
    return pick(join(norm(model, kept)))


def _after_attention(block, z):
    return z + block.attention(block.norm1(z))


def _each_block_alone(model, images):
    z = model.positions(model.class_token(model.patch_embedding(images)))
    return torch.stack([block(z) for block in model.encoder.blocks], dim=1)


ERRORS = [
    Known(
        "IndexError: index .* out of range",
        "layers-by-number",
        "The number of blocks is hard-coded, and this model has fewer.",
    ),
    Known(
        "AttributeError: 'ViT' object has no attribute '(blocks|layers)'",
        "blocks-sought-in-the-model",
        "The model itself has no blocks: they belong to its encoder.",
    ),
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

MISTAKES = {
    "start": [
        Slip(
            "class-token-and-positions-missing",
            "Only the patches went into the first block, without class token and positions.",
            lambda model, z: z,
        ),
    ],
    "take": [
        Slip("inputs-recorded", "The input of each block is recorded, not its output.", lambda block, z: z),
        Slip(
            "attention-recorded",
            "The outputs of the attention layers are recorded, before the residual and the MLP.",
            lambda block, z: block.attention(block.norm1(z)),
        ),
        Slip(
            "mlp-recorded",
            "The outputs of the MLPs are recorded, before they are added to the stream.",
            lambda block, z: block.mlp(block.norm2(_after_attention(block, z))),
        ),
        Slip(
            "middle-recorded",
            "The tokens between attention and MLP are recorded, in the middle of each block.",
            _after_attention,
        ),
        Slip(
            "norm-recorded",
            "The output of a norm in each block is recorded.",
            lambda block, z: block.norm1(z),
            lambda block, z: block.norm2(_after_attention(block, z)),
        ),
    ],
    "norm": [
        Slip(
            "after-the-last-norm",
            "The entry of the last layer was taken after the norm that follows the blocks.",
            lambda model, kept: [*kept[:-1], model.encoder.norm(kept[-1])],
        ),
        Slip(
            "all-normed",
            "The tokens of every block went through the last norm, which follows only the last block.",
            lambda model, kept: [model.encoder.norm(z) for z in kept],
        ),
    ],
    "join": [
        Slip("blocks-twice", "Every block is there twice.", lambda kept: torch.stack([*kept, *kept], dim=1)),
        Slip("layers-before-batch", "The layers come before the batch.", torch.stack),
        Slip("layers-after-tokens", "The layers come after the tokens.", lambda kept: torch.stack(kept, dim=2)),
        Slip("layers-reversed", "The last block comes first.", lambda kept: torch.stack(kept[::-1], dim=1)),
        Slip(
            "tokens-side-by-side",
            "The tokens of all layers are on one axis: there is no separate axis for the layers.",
            lambda kept: torch.cat(kept, dim=1),
        ),
        Slip(
            "layers-in-the-batch",
            "The layers are on the axis of the batch: there is no separate axis for them.",
            torch.cat,
        ),
    ],
    "pick": [
        Slip("last-block-missing", "The last block is missing.", lambda found: found[:, :-1]),
        Slip("first-block-missing", "The first block is missing.", lambda found: found[:, 1:]),
        Slip(
            "last-block-only", "Only the last block is there.", lambda found: found[:, -1], lambda found: found[:, -1:]
        ),
        Slip("class-token-only", "Only the class token is there.", lambda found: found[:, :, 0]),
        Slip("class-token-dropped", "The class token is missing.", lambda found: found[:, :, 1:]),
        Slip(
            "first-image-alone",
            "Only the first image of the batch is there: the output is a tensor, not a tuple.",
            lambda found: found[0],
            lambda found: found[0].transpose(0, 1),
        ),
        Slip("tokens-averaged", "The tokens are averaged.", lambda found: found.mean(dim=2)),
    ],
    "result": [
        Slip(
            "encoder-recorded",
            "The output of the whole encoder is recorded, after the last norm.",
            lambda model, images: model.features(images)[:, None],
            lambda model, images: model.features(images),
        ),
        Slip(
            "input-counted-as-layer",
            "There is one entry too many: the tokens before the first block are counted as a layer.",
            lambda model, images: torch.cat([model.embed(images)[:, None], outputs(model, images)], dim=1),
        ),
        Slip(
            "blocks-not-chained",
            "Each block got the input of the first block, not the output of the block before it.",
            lambda model, images: _each_block_alone(model, images),
        ),
    ],
}
