"""Exercise maps.record: the output of every block, recorded with hooks."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.maps.shared import small_model
from vit_course.checks.maps.traces import no_trace, no_trace_of_an_error, runs_in_its_mode
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.checks.tools.slips import Known, named_by_details, slips


@exercise("8.2", "The output of every block", section="Record the weights", difficulty=2, minutes=12, seconds=40)
def record(answer, draw):
    """`answer(model, images)`: a `ViT` and (B, C, H, W) -> (B, L, T, D), what each block gives; no trace is left."""
    draws = []
    for _ in range(2):
        (rows, columns), (batch, layers) = draw.sizes(2, 2, 4), draw.sizes(2, 3, 6)
        heads, width = draw.choose([(2, 5), (3, 4), (4, 3)])
        model = small_model(draw, (rows, columns), layers, heads, width, dropout=0.3)
        draws.append((model, draw.normal(batch, 3, *model.config.image_size)))
    model, images = draws[0]
    with named_by_details(
        Known("IndexError: index .* out of range", "layers-by-number", "The number of blocks is written as a number, "
              "and this model has fewer."),
        Known("AttributeError: 'ViT' object has no attribute '(blocks|layers)'", "blocks-sought-in-the-model",
              "The model itself has no blocks: they belong to its encoder."),
        Known("TypeError: .* takes [12] positional arguments? but 3 were given", "hook-takes-three",
              "A forward hook is called with three things: the module, its inputs and its output."),
        Known("TypeError: tokens must be a torch.Tensor", "hook-gives-no-tokens",
              "A block was given no tokens. What a forward hook returns takes the place of the output."),
    ):  # fmt: skip
        runs_in_its_mode(answer, model, images)
        same_function(answer, outputs, draws, _MISTAKES, "(B, L, T, D)", differentiable=False, mistakes_change=False)
    no_trace(answer, model, images)
    no_trace_of_an_error(answer, model, images)


def outputs(
    model,
    images,
    take=lambda block, z: block(z),
    layers=lambda before, kept: kept,
    norm=lambda model, kept: kept,
    join=lambda kept: torch.stack(kept, dim=1),
    pick=lambda found: found,
    start=lambda model, z: model.positions(model.class_token(z)),
):
    """The right answer, and with one of its steps replaced a wrong one."""
    before = z = start(model, model.patch_embedding(images))  # (B, T, D)
    kept = []
    for block in model.encoder.blocks:
        kept.append(take(block, z))
        z = block(z)
    return pick(join(norm(model, layers(before, kept))))


def _after_attention(block, z):
    return z + block.attention(block.norm1(z))


def _each_block_alone(model, images):
    z = model.positions(model.class_token(model.patch_embedding(images)))
    return torch.stack([block(z) for block in model.encoder.blocks], dim=1)


_MISTAKES = [
    *slips(
        outputs,
        {
            "take": [
                (lambda block, z: z, "inputs-recorded", "What is recorded is what goes into each block, not what "
                 "comes out."),
                (lambda block, z: block.attention(block.norm1(z)), "attention-recorded",
                 "What is recorded is what the attention layers give, before the residual and the MLP."),
                (lambda block, z: block.mlp(block.norm2(_after_attention(block, z))), "mlp-recorded",
                 "What is recorded is what the MLPs give, before it is added to what was there."),
                (_after_attention, "middle-recorded", "What is recorded are the tokens between attention and MLP, "
                 "in the middle of each block."),
                (lambda block, z: block.norm1(z), "norm-recorded", "What is recorded is what each block's first "
                 "norm gives."),
                (lambda block, z: block.norm2(_after_attention(block, z)), "norm-recorded", "What is recorded is "
                 "what each block's second norm gives."),
            ],
            "join": [
                (lambda kept: torch.stack([*kept, *kept], dim=1), "blocks-twice", "Every block is there twice."),
                (torch.stack, "layers-before-batch", "The layers come before the batch."),
                (lambda kept: torch.stack(kept, dim=2), "layers-after-tokens", "The layers come behind the tokens."),
                (lambda kept: torch.stack(kept, dim=3), "layers-last", "The layers come last, behind the features."),
                (lambda kept: torch.cat(kept, dim=1), "tokens-side-by-side", "The tokens of all layers lie on one "
                 "axis: the layers have none of their own."),
                (torch.cat, "layers-in-the-batch", "The layers lie on the axis of the batch: they have none of their "
                 "own."),
                (lambda kept: torch.cat(kept, dim=2), "layers-in-the-features", "The layers lie on the axis of the "
                 "features: they have none of their own."),
            ],
            "layers": [
                (lambda before, kept: [before, *kept], "input-counted-as-layer",
                 "There is one entry too many: the tokens before the first block are counted as a layer."),
                (lambda before, kept: kept[:-1], "last-block-missing", "The last block is missing."),
                (lambda before, kept: kept[1:], "first-block-missing", "The first block is missing."),
                (lambda before, kept: kept[::-1], "layers-reversed", "The last block comes first."),
                (lambda before, kept: kept[-1:], "last-block-only", "Only the last block is there."),
                (lambda before, kept: kept[:1], "first-block-only", "Only the first block is there."),
            ],
            "norm": [
                (lambda model, kept: [*kept[:-1], model.encoder.norm(kept[-1])], "after-the-last-norm",
                 "The last layer's entry was taken behind the norm that follows the blocks."),
                (lambda model, kept: [model.encoder.norm(z) for z in kept], "all-normed",
                 "Every block's tokens went through the last norm, which follows the last block alone."),
            ],
            "pick": [
                (lambda found: found[:, :, 0], "class-token-only", "Only the class token is there."),
                (lambda found: found[:, :, 1:], "class-token-dropped", "The class token is missing."),
                (lambda found: found[:, -1], "last-block-only", "Only the last block is there."),
                (lambda found: found[0], "first-image-alone", "Only the first image of the batch is there."),
                (lambda found: found[0].transpose(0, 1), "first-image-alone", "Of each block's output only the first "
                 "image is there: the output is a tensor and no tuple."),
                (lambda found: found.mean(dim=2), "tokens-averaged", "The tokens are averaged."),
                (lambda found: found.mean(dim=0), "batch-averaged", "The images of the batch are averaged."),
                (lambda found: found.mean(dim=1), "layers-averaged", "The layers are averaged."),
                (lambda found: found.sum(dim=1), "layers-added", "The layers are added up."),
            ],
            "start": [
                (lambda model, z: model.class_token(z), "positions-missing", "The tokens went into the first block "
                 "without their positions."),
                (lambda model, z: z, "class-token-and-positions-missing", "The patches alone went into the first "
                 "block, without class token and positions."),
            ],
        },
        likely=0,  # each try runs the model
    ),
    Mistake("encoder-recorded", "What is recorded is what the whole encoder gives, behind the last norm.",
            lambda model, images: outputs(model, images, layers=lambda _, kept: [model.encoder.norm(kept[-1])])),
    Mistake("encoder-recorded", "What is recorded is what the whole encoder gives, behind the last norm.",
            lambda model, images: outputs(model, images, layers=lambda _, kept: [model.encoder.norm(kept[-1])])[:, 0]),
    Mistake("blocks-not-chained", "Each block was given the tokens before the first one, not those behind its "
            "predecessor.", _each_block_alone),
]  # fmt: skip
