"""Exercise capstone.block: the encoder block."""

from vit_course.checks.capstone.attention import head_sizes
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.block import right_block
from vit_course.checks.tools.modules import build, feed
from vit_course.checks.tools.tensors import tensor


def block(answer, draw):
    """`answer(hidden_dim, num_heads, mlp_dim)` -> a module (B, T, D) -> (B, T, D)."""
    for (batch, number), (heads, d) in zip(((3, 5), (2, 6)), head_sizes(draw), strict=True):
        width, inner = heads * d, 4 * heads * d - d
        module = build(answer, width, heads, inner)
        x = 3 * draw.normal(batch, number, width)  # so large that the epsilon of a norm does not show
        tensor(feed(module, x), x.shape, "(B, T, D)", "the output")
        module.eval()
        norms, mlp, attention = 4 * width, 2 * width * inner + inner + width, 4 * width * width + 4 * width
        right = [norms + mlp + attention - biases * width for biases in (0, 3, 4, 1, 2)]
        counted(module, right, __name__, locals(), f"D = {width}, MLP {inner}")
        right_block(module, x, heads, inner, draw)
