"""Exercise encoder.stack: a stack of blocks, to be mended."""

import contextlib
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.mistakes import Mistake, bugs_repaired
from vit_course.checks.tools.modules import alone, build, count, feed, repeats, same_in_training, trained_by
from vit_course.checks.tools.rows_of_blocks import AFTER_EVERY_BLOCK, MISTAKES, NO_NORM, run
from vit_course.checks.tools.tensors import agree, equal, tensor
from vit_course.encoder import NORM_EPSILON, EncoderBlock


def stack(answer, draw):
    """`answer(make_block, num_layers, hidden_dim)` -> a module (B, T, D) -> (B, T, D); make_block() gives a block."""
    for layers in (3, 4):
        batch, tokens = draw.sizes(2)
        heads, width = draw.choose([(2, 5), (3, 4), (4, 3), (5, 2)])
        hidden = heads * width
        factory = Factory(hidden, heads, draw)
        module = build(answer, factory.make_block, layers, hidden)
        x = 10 * draw.normal(batch, tokens, hidden)
        out = _first_output(module, factory, x)
        axes = {"B": (batch, "images"), "T": (tokens, "tokens"), "D": (hidden, "hidden width")}
        with axes_named(axes, asked="(B, T, D)"):
            tensor(out, x.shape, "(B, T, D)", "the output")
        module.eval()
        for _ in range(8):  # a block that is left out by chance may run twice
            repeats(module, x, "random-in-evaluation")
        alone(module, x)
        with torch.no_grad():
            right_blocks(module, factory, x, layers, scale=0.5 + draw.uniform(hidden))
        same_in_training(module, x)  # the blocks that are handed in have no dropout
        trained_by(module, x, draw, through=True)


class Factory:
    """Makes blocks with random weights, and knows which were made and which have run, in order."""

    def __init__(self, hidden_dim: int, num_heads: int, draw):
        made, ran = [], []

        class Block(EncoderBlock):
            def forward(self, x):
                ran.append(self)
                return super().forward(x)

        def make_block():
            made.append(Block(hidden_dim, num_heads, 2 * hidden_dim))
            for parameter in made[-1].parameters():
                parameter.data = 2 * hidden_dim**-0.5 * draw.normal(*parameter.shape)
            return made[-1]

        self.made, self.ran, self.make_block, self._block = made, ran, make_block, Block

    def blocks_in(self, module: nn.Module) -> list[nn.Module]:
        """The blocks that are parts of the module, copies too, each once."""
        return [part for part in module.modules() if isinstance(part, self._block)]


def _first_output(module: nn.Module, factory: Factory, x: torch.Tensor):
    before = len(factory.made)
    out = feed(module, x)
    made = len(factory.made)
    if made == before:
        return out
    with contextlib.suppress(Wrong):  # nothing is left of a generator
        feed(module, x)
    if len(factory.made) > made:
        raise Wrong("blocks-made-in-forward", "New blocks are made each time that tokens pass through the module.")
    raise Wrong(
        "generator-kept",
        "The blocks come from a generator: the first call uses it up, and no blocks are left for the next one.",
    )


def right_blocks(module: nn.Module, factory: Factory, x: torch.Tensor, layers: int, scale: torch.Tensor) -> None:
    """Raises `Wrong` unless separate blocks run one after the other, and one norm runs once at the end.

    Args:
        module: in eval mode.
        factory: that made its blocks.
        x: (B, T, D).
        layers: how many blocks there are to be.
        scale: (D,), for scale and shift of the norm, to see where it runs.
    """
    blocks = factory.blocks_in(module)
    norm, learned = _known_norm(module, blocks, scale)
    factory.ran.clear()
    received = feed(module, x)
    ran = [*factory.ran]
    normed = len(ran) > 1 and any(agree(received, wrong(x, ran, norm)) for wrong in AFTER_EVERY_BLOCK.functions(run))
    if len(blocks) == 1 < len(ran):
        if normed:
            raise Wrong("still-faulty", bugs_repaired(0, 2))
        sentence = f"{bugs_repaired(1, 2)} One block is used again and again, so all layers share their weights."
        raise Wrong("same-block", sentence, _parameters(module, blocks[0], layers))
    if normed:
        sentence = f"{bugs_repaired(1, 2)} {AFTER_EVERY_BLOCK.sentence}"
        equal(received, run(x, ran, norm), AFTER_EVERY_BLOCK.slug, sentence, axes="(B, T, D)")
    _right_parts(module, blocks, learned, layers)
    in_order = ran if {*ran} == {*blocks} and len(ran) == layers else blocks  # any order, since they are made alike
    _right_way(received, x, in_order, norm)
    if not learned:
        raise Wrong("norm-without-parameters", "The last norm has no learned scale and no learned shift.")


def _known_norm(module: nn.Module, blocks: list[nn.Module], scale: torch.Tensor) -> tuple[Callable, int]:
    # Sets all scales and shifts, which are whatever the blocks do not have, to the same D numbers; -> the norm with
    # these, and how many numbers it learns.
    in_blocks = {id(parameter) for block in blocks for parameter in block.parameters()}
    others = [parameter for parameter in module.parameters() if id(parameter) not in in_blocks]
    for parameter in others:
        if parameter.ndim and parameter.shape[-1] == len(scale):
            parameter.data = scale.expand_as(parameter).clone()
    known = (scale, scale) if others else ()
    return lambda z: F.layer_norm(z, scale.shape, *known, eps=NORM_EPSILON), sum(one.numel() for one in others)


def _parameters(module: nn.Module, block: nn.Module, layers: int) -> list[str]:
    width, each = len(block.norm1.weight), count(block)
    expected = f"{layers * each + 2 * width} parameters with {layers} blocks of {each}, at D = {width}"
    return [f"Expected: {expected}", f"Received: {count(module)}"]


def _right_parts(module: nn.Module, blocks: list, learned: int, layers: int) -> None:
    if not blocks:  # taught: "Blocks in a plain list"
        sentence = "No block of make_block is part of the module; blocks in a plain list are neither trained nor saved."
        raise Wrong("blocks-not-registered", sentence)
    details = _parameters(module, blocks[0], layers)
    if len(blocks) != layers:
        sentence = f"The number of blocks is not num_layers: {len(blocks)} instead of {layers}."
        raise Wrong("wrong-number-of-blocks", sentence, details)
    of_norm = 2 * len(blocks[0].norm1.weight)
    if learned not in (0, of_norm):
        sentence = f"Besides the blocks, there are {learned} parameters; one norm has {of_norm}."
        raise Wrong("wrong-parameters", sentence, details)
    # taught: each block has random weights of its own
    if any(_alike(a, b) for number, a in enumerate(blocks) for b in blocks[:number]):
        sentence = "The blocks are copies of each other: they start with the same weights."
        raise Wrong("copies-start-alike", sentence)


def _alike(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def _right_way(received: torch.Tensor, x: torch.Tensor, blocks: list, norm: Callable) -> None:
    expected = run(x, blocks, norm)
    if agree(received, expected):
        return
    for mistake in [*MISTAKES, *PAIRS]:
        if any(agree(received, function(x, blocks, norm)) for function in mistake.functions(run)):
            equal(received, expected, mistake.slug, mistake.sentence, axes="(B, T, D)")
    context = ["The scale and the shift of the last norm were set to known values."]
    equal(received, expected, axes="(B, T, D)", context=context)


PAIRS = [
    Mistake(
        "no-last-norm-and-residual-around-blocks",
        (
            "Two things are wrong. No norm follows the last block. The input of each block is added to its output, "
            "although the block already does that itself."
        ),
        {"norms": NO_NORM, "around": 1},
    ),
]
