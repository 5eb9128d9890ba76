"""Exercise capstone.block: the encoder block."""

from functools import partial

from vit_course.checks.capstone.attention import head_sizes
from vit_course.checks.capstone.pre_norm_block import block as right_block
from vit_course.checks.capstone.pre_norm_block import block_mistakes, gelu, tanh_gelu
from vit_course.checks.tools.mistakes import map_functions
from vit_course.checks.tools.modules import build
from vit_course.checks.tools.put_weights import random_weights, same_module
from vit_course.encoder import EncoderBlock


def block(answer, draw):
    """`answer(hidden_dim, num_heads, mlp_dim)` -> a module (B, T, D) -> (B, T, D); the stub names its parts."""
    for (batch, tokens), (heads, d) in zip(((3, 5), (2, 6)), head_sizes(draw), strict=True):
        width, inner = heads * d, 4 * heads * d - d
        module = build(answer, width, heads, inner)
        weights = random_weights(EncoderBlock(width, heads, inner), draw)
        # Whatever stream a norm reads, its epsilon does not show; and no score is so large that a softmax has an end.
        weights["attention.qkv.weight"][: 2 * width] *= 0.25
        for norm in ("norm1", "norm2"):
            weights[f"{norm}.weight"] *= 3
        inputs = [3 * draw.normal(*sizes, width) for sizes in ((batch, tokens), (batch + 1, tokens + 2))]
        known = {"weights": weights, "heads": heads}
        mistakes = map_functions(block_mistakes(), lambda wrong, known=known: partial(wrong, **known), right_block)
        references = [partial(right_block, **known, mlp=form) for form in (gelu, tanh_gelu)]
        same_module(module, named(weights), references, inputs, mistakes, "(B, T, D)", draw)


def named(weights):
    """The weights of an `EncoderBlock` by the names that the stub fixes."""
    return {name.replace("mlp.", ""): value for name, value in weights.items()}
