"""Exercise capstone.block: the encoder block."""

from vit_course.checks.capstone.attention import head_sizes
from vit_course.checks.tools.accountant import counted
from vit_course.checks.tools.block import right_block
from vit_course.checks.tools.mistakes import Slip
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
        counted(
            module,
            right,
            PARAMETERS,
            dict(width=width, inner=inner, mlp=mlp, attention=attention),
            f"D = {width}, MLP {inner}",
        )
        right_block(module, x, heads, inner, draw)


PARAMETERS = [
    Slip(
        "no-parameters",
        "The module has no parameters: its parts are not attributes, or are in a plain list.",
        lambda right: -right,
    ),
    Slip(
        "shared-norm",
        "The module learns as many numbers as with one LayerNorm for two branches, or with two norms without a shift.",
        lambda width: -2 * width,
    ),
    Slip("norms-without-parameters", "The norms have no learned scale and no learned shift.", lambda width: -4 * width),
    Slip("mlp-without-biases", "The two layers of the MLP have no biases.", lambda inner, width: -inner - width),
    Slip("no-mlp", "There is no MLP.", lambda mlp: -mlp),
    Slip("no-attention", "There is no attention.", lambda attention: -attention),
    Slip("norm-too-many", "There are three norms; the two branches have one each.", lambda width: 2 * width),
    Slip(
        "mlp-dim-ignored",
        "Inside, the MLP is 4 D wide, whatever mlp_dim is.",
        lambda width, inner: (4 * width - inner) * (2 * width + 1),
    ),
    Slip(
        "mlp-dim-ignored",
        "Inside, the MLP is 2048 wide, which is the default of PyTorch's layer.",
        lambda inner, width: (2048 - inner) * (2 * width + 1),
    ),
]
