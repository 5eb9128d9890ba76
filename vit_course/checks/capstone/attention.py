"""Exercise capstone.attention: self-attention as a module."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.biases import draw_biases
from vit_course.checks.tools.flat import Flat
from vit_course.checks.tools.heads import Vectors, attend, close, heads_of, name_the_slip
from vit_course.checks.tools.modules import alone, build, count, feed, repeats, trained_by
from vit_course.checks.tools.roles import Watched, find_roles
from vit_course.checks.tools.table import refuse, values
from vit_course.checks.tools.tensors import equal, tensor
from vit_course.checks.tools.tokens_meet import tokens_meet

ASKER = 1  # not the first, to which a causal mask leaves no choice


@exercise("12.3", "Self-attention", section="Six steps, six checks", difficulty=3, minutes=15)
def attention(answer, draw):
    """`answer(hidden_dim, num_heads)` -> a module (B, T, D) -> (B, T, D), its parameters named as you like."""
    for (batch, tokens), (heads, width) in zip(((3, 5), (2, 6)), head_sizes(draw), strict=True):
        hidden = heads * width
        layer = build(answer, hidden, heads)
        x = draw.normal(batch, tokens, hidden)
        out = feed(layer, x)
        if isinstance(out, torch.Tensor) and out.shape in ((batch, tokens, tokens), (batch, heads, tokens, tokens)):
            details = [f"Expected: {tuple(x.shape)} (B, T, D)", f"Received: {tuple(out.shape)}"]
            sentence = "What comes back has the shape of weights, a number for each two tokens, not of tokens."
            raise Wrong("weights-returned", sentence, details)
        tensor(out, x.shape, "(B, T, D)", "the output")
        layer.eval()
        _parameters(layer, hidden, heads)
        tensor(feed(layer, x), x.shape, "(B, T, D)", "the output in eval mode")
        matrices, spare = split(layer, hidden)
        draw_matrices(layer, matrices, hidden, draw)
        repeats(layer, x)
        trained_by(layer, x, draw, through=True)
        alone(layer, x)
        for fewer in (x[:, :1], x[:, 1:]):
            tensor(feed(layer, fewer), fewer.shape, "(B, T, D)", "the output for another number of tokens")
        tokens_meet(layer, x, draw)
        flat = Flat(list(layer.parameters()))
        watched = Watched(flat, lambda x, layer=layer: feed(layer, x[None])[0, ASKER], ASKER)
        roles = find_roles(watched, [flat.places(p) for p in matrices], draw.normal(4, hidden), draw.normal(hidden))
        flat.set(3 * flat.get())
        same_attention(lambda x, layer=layer: feed(layer, x), flat, roles, x, heads)
        vectors, last = draw_biases(
            watched, heads_of(roles, hidden, heads), spare, lambda hidden=hidden: draw.normal(4, hidden), draw
        )
        expected = attend(vectors, x) + last
        received = feed(layer, x).detach()
        if not close(received, expected):
            equal(received, expected, "bias-elsewhere", "With biases that are not 0, the output is not that of "
                  "attention: one of them acts in another place.", axes="(B, T, D)")  # fmt: skip


def head_sizes(draw) -> list[tuple[int, int]]:
    """(heads, width of a head), twice, of which one differs in the number of heads from the other."""
    # 4 heads at least or a width of 5, so that any matrix, of one head too, has more numbers than all biases. Not three
    # heads: then two matrices of D x D are as many numbers as three a head of d x d, and one.
    return [draw.choose([(2, 5), (2, 7)]), (4, 5)]


def split(module: nn.Module, hidden: int) -> tuple[list[nn.Parameter], torch.Tensor]:
    """The matrices of an attention, and the places of all that is smaller, such as biases, in the row of all."""
    flat = Flat(list(module.parameters()))
    matrices = [parameter for parameter in flat.parameters if parameter.numel() > 3 * hidden]
    spare = [flat.places(p).flatten() for p in flat.parameters if p.numel() <= 3 * hidden]
    return matrices, torch.cat([torch.zeros(0, dtype=torch.long), *spare])


def draw_matrices(module: nn.Module, matrices: list[nn.Parameter], hidden: int, draw) -> None:
    """Random matrices, no two parts alike, and no biases; the scores so small that no softmax has an end."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
        for matrix in matrices:
            matrix.copy_(0.5 * hidden**-0.5 * draw.normal(*matrix.shape))


def same_attention(function, flat: Flat, roles, x: torch.Tensor, heads: int) -> list[Vectors]:
    """The heads of a function (B, T, D) -> (B, T, D); raises `Wrong` unless it is attention with the roles found."""
    row, hidden = flat.get(), x.shape[-1]
    found = [Vectors.of(head, row) for head in heads_of(roles, hidden, heads)]
    received = function(x).detach()
    if found and close(received, attend(found, x)):
        return found
    slip = name_the_slip(roles, heads, row, x, received)
    context = ["Input:    random matrices, no two alike, and biases of 0"]
    expected = attend(found, x) if found else None
    if slip is None and expected is not None:
        equal(received, expected, axes="(B, T, D)", context=context)
    if slip is None:
        _another_number(roles, row, x, received, heads)
        raise Wrong(
            "wrong-behaviour",
            "The parameters do not form heads that work each for itself.",
            [f"Expected: {heads} heads of width {hidden // heads}", f"Received: {_sizes(roles)}"],
        )
    mistake, sentence, _ = slip
    if expected is not None:
        equal(received, expected, mistake, sentence, axes="(B, T, D)", context=context)
    raise Wrong(mistake, sentence, context)


def _another_number(roles, row: torch.Tensor, x: torch.Tensor, received: torch.Tensor, heads: int) -> None:
    # Raises `Wrong` where it is attention with other heads than were asked for.
    hidden, groups = x.shape[-1], roles.groups()
    if any(len(pairs) != len(values) or len(pairs) * len(groups) != hidden for pairs, values in groups):
        return
    if groups and close(received, attend([Vectors.of(roles.head(*group), row) for group in groups], x)):
        details = [f"Expected: {heads} heads of width {hidden // heads}"]
        details.append(f"Received: {len(groups)} heads of width {hidden // len(groups)}")
        if len(groups) == hidden // heads:
            raise Wrong(
                "heads-and-width-exchanged", "The number of heads and their width have changed places.", details
            )
        raise Wrong("wrong-number-of-heads", "There are not as many heads as were asked for.", details)


def _sizes(roles) -> str:
    sizes = [str(len(pairs)) for pairs, _ in roles.groups()]
    return f"{len(sizes)} groups of queries and keys that act on each other, of {', '.join(sizes)}"


def _parameters(layer: nn.Module, hidden: int, heads: int) -> None:
    found = count(layer)
    matrices = 4 * hidden * hidden
    biases = {0, hidden, 2 * hidden, 3 * hidden, 4 * hidden}
    if found - matrices in biases:
        return
    details = [
        f"Expected: {matrices} in matrices and up to {4 * hidden} in biases, at D = {hidden}, h = {heads}",
        f"Received: {found}",
    ]
    if found == 0:
        raise Wrong(
            "no-parameters", "The module has no parameters: its layers are not attributes, or lie in a plain list."
        )
    d = hidden // heads
    known = values(__name__, "known", locals())
    if any(tuple(p.shape)[-2:] == (d, d) for p in layer.parameters()):
        known[3 * hidden * d + hidden * hidden] = (
            "heads-see-a-part",
            "The matrices of a head are d x d: it reads its own part of a token, where every head reads all of it.",
        )
    for base, (slug, sentence) in known.items():
        if found - base in biases | {3 * d, 3 * d + hidden}:
            raise Wrong(slug, sentence, details)
    refuse(__name__, "parameters", locals(), details)
    raise Wrong("wrong-parameters", "The number of parameters is not that of self-attention.", details)
