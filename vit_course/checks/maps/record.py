"""Exercise maps.record: the output of every block, recorded with hooks."""

import torch

from vit_course.checks.maps.traces import no_trace, no_trace_of_an_error
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, table
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
    with named_by_details(*known(__name__, "errors")):
        mistakes = table(__name__, "mistakes", outputs)
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
