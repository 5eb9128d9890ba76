"""Exercise capstone.block: the encoder block."""

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.capstone.attention import head_sizes, same_attention
from vit_course.checks.capstone.shared import counted
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.biases import draw_biases
from vit_course.checks.tools.block_parts import ASKER, BlockParts, Norm, normed
from vit_course.checks.tools.block_shape import put_together
from vit_course.checks.tools.heads import Vectors, attend, close, heads_of
from vit_course.checks.tools.modules import alone, build, feed, repeats, scatter, trained_by
from vit_course.checks.tools.roles import Watched, find_roles
from vit_course.checks.tools.tensors import equal, tensor
from vit_course.checks.tools.tokens_meet import tokens_meet


@exercise("12.4", "The encoder block", section="Six steps, six checks", difficulty=3, minutes=10)
def block(answer, draw):
    """`answer(hidden_dim, num_heads, mlp_dim)` -> a module (B, T, D) -> (B, T, D)."""
    for (batch, number), (heads, head_width) in zip(((3, 5), (2, 6)), head_sizes(draw), strict=True):
        width, inner = heads * head_width, 4 * heads * head_width - head_width
        module = build(answer, width, heads, inner)
        x = 3 * draw.normal(batch, number, width)  # so large that the epsilon of a norm does not show
        tensor(feed(module, x), x.shape, "(B, T, D)", "the output")
        module.eval()
        _block_parameters(module, width, inner)
        parts = BlockParts(module, width, inner)
        scatter(module, draw)
        repeats(module, x)
        trained_by(module, x, draw, through=True)
        alone(module, x)
        put_together(parts, x, draw)
        scatter(module, draw)
        _all_used(parts, draw)
        tokens_meet(module, x, draw)
        _same_block(parts, x, heads, draw)


def _all_used(parts: BlockParts, draw) -> None:
    # All that a norm, a matrix or a bias has must count; a key's bias alone has no say in a softmax. Many tokens,
    # because a ReLU is silent for half of them; of the MLP, only a whole tensor without a gradient counts.
    out = feed(parts.module, draw.normal(8, 16, parts.width))
    slopes = parts.flat.slopes((out * draw.normal(*out.shape)).sum()).abs()
    idle = slopes < 1e-7 * slopes.max()
    idle[parts.attention] = False  # `find_roles` knows more of these
    for parameter in parts.mlp:
        idle[parts.flat.places(parameter)] = bool(idle[parts.flat.places(parameter)].all())
    if int(idle.sum()) < 2 * parts.width:
        return
    norms = [one for one in parts.module.modules() if isinstance(one, nn.LayerNorm) and one.weight is not None]
    for norm in norms:
        if any(norm.weight is p for p in parts.flat.parameters) and bool(idle[parts.flat.places(norm.weight)].all()):
            raise Wrong("norm-unused", f"Of {len(norms)} norms, one has no part in the output.")
    raise Wrong(
        "unused-parameters",
        "Some of the parameters have no part in the output.",
        [f"Received: {int(idle.sum())} numbers without a gradient, at D = {parts.width}"],
    )


def _same_block(parts: BlockParts, x: torch.Tensor, heads: int, draw) -> None:
    first, second = (_one_norm(parts, draw, attention) for attention in (True, False))
    if torch.equal(first.scale, second.scale):
        raise Wrong("shared-norm", "One norm serves both branches.")
    flat, width = parts.flat, parts.width
    last = parts.last_bias(draw)
    row = parts.draw(draw, mlp=False)
    row[torch.cat([first.scale, second.scale])] = 1
    flat.set(row)

    def tokens():
        return normed(draw.normal(4, width))

    watched = Watched(flat, lambda x: feed(parts.module, x[None])[0, ASKER], ASKER)
    roles = find_roles(watched, [flat.places(p) for p in parts.matrices], tokens(), draw.normal(width))
    row[parts.attention] *= 3
    flat.set(row)
    same_attention(lambda x: feed(parts.module, x) - x, flat, roles, normed(x), heads)
    norms = torch.cat([first.scale, first.shift, second.scale, second.shift])
    found = heads_of(roles, width, heads)

    def compare(vectors, bias, places):
        row = flat.get()
        row[parts.in_mlp] = parts.draw(draw)[parts.in_mlp]
        row[places] = 0.5 + draw.normal(len(places))

        def a(x):
            return attend(vectors, first.of(x, row)) + bias

        def m(x, order=1, function=F.gelu, after=lambda z: z, before=lambda z: z):
            out = _mlp(parts, before(second.of(x, row)), row, order, function) + row[last].reshape(-1, width).sum(0)
            return after(out)

        _compare(parts.out(row, x), x, a, m)

    compare([Vectors.of(head, row) for head in found], 0.0, torch.tensor([], dtype=torch.long))
    row = parts.draw(draw, mlp=False)
    row[torch.cat([first.scale, second.scale])] = 1
    flat.set(row)
    spare = parts.spare[~torch.isin(parts.spare, torch.cat([norms, last]))]
    vectors, bias = draw_biases(watched, found, spare, tokens, draw)
    compare(vectors, bias, torch.cat([norms, last, parts.inner_bias]))


def _one_norm(parts: BlockParts, draw, attention: bool) -> Norm:
    found = parts.norm_before(draw, attention)
    name = "attention" if attention else "MLP"
    if len(found) != 1:
        raise Wrong(
            "wrong-behaviour",
            f"The norm before the {name} is not a LayerNorm with a scale and a shift of its own.",
            [f"Expected: 1 norm before the {name}", f"Received: {len(found)}"],
        )
    return found[0]


def _mlp(parts: BlockParts, x: torch.Tensor, row: torch.Tensor, order: int, function) -> torch.Tensor:
    # Which of its two matrices comes first is tried both ways.
    first, second = [row[parts.flat.places(p)].squeeze() for p in parts.mlp if p.numel() > len(parts.inner_bias)][
        ::order
    ]
    first, second = (m if m.shape[-1] == parts.width else m.T for m in (first, second))
    return function(x @ first.T + row[parts.inner_bias]) @ second


_FUNCTIONS = {
    "relu": ("Between the MLP's two layers stands a ReLU, and this model has a GELU there.", F.relu),
    "no-activation": ("Between the MLP's two layers stands nothing, so the two are one matrix.", lambda z: z),
    "not-gelu": ("Between the MLP's two layers stands another function than a GELU: a SiLU, as it seems.", F.silu),
    "not-gelu-quick": (
        "Between the MLP's two layers stands x times sigmoid(1.702 x), and this model has a GELU there.",
        lambda z: z * (1.702 * z).sigmoid(),
    ),
    "not-gelu-tanh": ("Between the MLP's two layers stands a tanh.", torch.tanh),
    "not-gelu-sigmoid": ("Between the MLP's two layers stands a sigmoid.", torch.sigmoid),
    "not-gelu-elu": ("Between the MLP's two layers stands an ELU.", F.elu),
    "not-gelu-leaky": ("Between the MLP's two layers stands a leaky ReLU.", F.leaky_relu),
    "not-gelu-softmax": ("Between the MLP's two layers stands a softmax.", lambda z: z.softmax(-1)),
}  # fmt: skip


def _compare(received: torch.Tensor, x: torch.Tensor, a, m) -> None:
    ways = {
        None: ("", lambda x, m: (x + a(x)) + m(x + a(x))),
        "mlp-first": ("The MLP comes before the attention.", lambda x, m: (x + m(x)) + a(x + m(x))),
        "parallel": (
            "Both branches read the block's input, where the second reads what the first left.",
            lambda x, m: x + a(x) + m(x),
        ),
        "doubled": ("The branch of the attention is added twice.", lambda x, m: (y := x + 2 * a(x)) + m(y)),
    }
    gelus = (F.gelu, lambda z: F.gelu(z, approximate="tanh"))
    expected = ways[None][1](x, m)
    for order in (1, -1):
        for slug, (sentence, way) in ways.items():
            for function in gelus:
                out = way(x, lambda x, f=function, o=order: m(x, o, f))
                if close(received, out):
                    if slug is None:
                        return
                    equal(received, expected, slug, sentence, axes="(B, T, D)")
        for slug, (sentence, function) in _FUNCTIONS.items():
            if close(received, ways[None][1](x, lambda x, f=function, o=order: m(x, o, f))):
                slug = "not-gelu" if slug.startswith("not-gelu") else slug
                equal(received, expected, slug, sentence, axes="(B, T, D)")
        if close(received, ways[None][1](x, lambda x, o=order: m(x, o, after=F.gelu))):
            equal(received, expected, "gelu-at-the-end", "A GELU follows the MLP's last layer.", axes="(B, T, D)")
        if close(received, ways[None][1](x, lambda x, o=order: m(x, o, lambda z: z, before=F.gelu))):
            sentence = "A GELU stands before the MLP's first layer, where this model has it behind that layer."
            equal(received, expected, "gelu-first", sentence, axes="(B, T, D)")
    equal(received, expected, axes="(B, T, D)", context=["All parameters were set to random values."])


def _block_parameters(module: nn.Module, width: int, inner: int) -> None:
    norms, mlp, attention = 4 * width, 2 * width * inner + inner + width, 4 * width * width + 4 * width
    right = norms + mlp + attention
    sentence = "As many numbers are learned as with one LayerNorm for two branches, or two norms without a shift."
    one_norm = ("shared-norm", sentence)
    known = {}
    for bias in (0, width, 3 * width, 4 * width):
        known = {
            right - bias - 2 * width: one_norm,
            right - bias - norms: (
                "norms-without-parameters",
                "The norms have no scale and no shift that are learned.",
            ),
            right - bias - inner - width: ("mlp-without-biases", "The two layers of the MLP have no biases."),
            right - bias - mlp: ("no-mlp", "There is no MLP."),
            right - bias + 2 * width: ("norm-too-many", "There are three norms: two branches have one each."),
            norms + mlp: ("no-attention", "There is no attention."),
            norms + attention - bias + 8 * width * width + 5 * width: (
                "mlp-dim-ignored",
                "Inside, the MLP is 4 D wide, whatever mlp_dim is.",
            ),
            norms + attention - bias + 2 * width * 2048 + 2048 + width: (
                "mlp-dim-ignored",
                "Inside, the MLP is 2048 wide, as PyTorch's layer is where no width is given.",
            ),
        } | known  # what fits the usual number of biases first
    known[right - 5 * width] = known[right - 2 * width] = one_norm
    attentions = {right - width * bias for bias in range(5)}
    counted(module, attentions, known, f"D = {width}, MLP {inner}")
