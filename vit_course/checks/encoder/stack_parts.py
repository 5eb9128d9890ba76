"""The parts of a stack of blocks: how many blocks there are, whether each is its own, and what is beside them."""

from collections.abc import Callable

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.modules import count
from vit_course.encoder import EncoderBlock

_OTHER_NORMS = (nn.modules.batchnorm._NormBase, nn.GroupNorm, nn.RMSNorm)


class Factory:
    """Makes blocks with random weights, and knows which were made and which have run, in order.

    `first_run` says how often blocks ran when tokens passed for the first time.
    """

    first_run = 0

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


def right_parts(
    module: nn.Module, factory: Factory, layers: int, sized: Callable[[int], tuple[nn.Module, Factory]]
) -> None:
    """Raises `Wrong` unless the module has so many blocks, each with weights of its own, and at most one norm.

    Args:
        module: it has run once at least.
        factory: that made its blocks.
        layers: how many there are to be.
        sized: another module of so many layers, and its factory.
    """
    blocks, made = factory.blocks_in(module), factory.made
    if not made:
        raise Wrong("no-blocks", "No block is made: make_block is never called.")
    each, width = count(made[0]), made[0].norm1.weight.numel()
    norm = 2 * width
    details = [
        f"Expected: {layers * each + norm} parameters with {layers} blocks of {each}, at D = {width}",
        f"Received: {count(module)}",
    ]
    if not blocks:
        raise Wrong(
            "blocks-not-registered",
            "The blocks are no parts of the module: they would not be trained and not be saved.",
            details,
        )
    if len(blocks) == 1:
        raise _one_block(factory, layers, details)
    rest = count(module) - sum(map(count, blocks))
    if rest in (layers * norm, layers * norm + norm):
        raise Wrong("norm-for-every-block", "There is a further norm for every block.", details)
    other = next((part for part in module.modules() if isinstance(part, _OTHER_NORMS)), None)
    if other is not None:
        raise Wrong("another-norm", f"The norm is {_with_article(type(other).__name__)}, and no LayerNorm.", details)
    if len(blocks) != layers:
        raise _wrong_number(len(blocks), layers, sized, details)
    if rest == norm // 2:
        raise Wrong("norm-in-part", "Of the scale and the shift of the last norm one is missing.", details)
    if rest not in (0, norm):
        sentence = f"Beside the blocks there are {rest} parameters, where one norm has {norm}."
        raise Wrong("wrong-parameters", sentence, details)
    if any(_alike(a, b) for number, a in enumerate(blocks) for b in blocks[:number]):
        raise Wrong("copies-start-alike", "The blocks are copies of each other: they start with the same weights.")


def _one_block(factory: Factory, layers: int, details: list[str]) -> Wrong:
    if len(factory.made) > 1:
        return Wrong("blocks-overwritten", "Several blocks are made, and one of them is kept.", details)
    if factory.first_run <= 1:
        return Wrong(
            "one-block", f"There is one block, and it runs once, where {layers} blocks are asked for.", details
        )
    return Wrong("same-block", "One block is used again and again: all layers share their weights.", details)


def _wrong_number(found: int, layers: int, sized, details: list[str]) -> Wrong:
    numbers = {layers: found}
    for others in (2, 5):
        module, factory = sized(others)
        numbers[others] = len(factory.blocks_in(module))
    for slug, sentence, right in (
        ("number-of-blocks-fixed", "The number of blocks is fixed, whatever num_layers is.", lambda n: found),
        ("one-block-less", "There is one block less than was asked for.", lambda n: n - 1),
        ("one-block-more", "There is one block more than was asked for.", lambda n: n + 1),
        ("twice-as-many-blocks", "There are twice as many blocks as were asked for.", lambda n: 2 * n),
    ):
        if all(number == right(n) for n, number in numbers.items()):
            return Wrong(slug, sentence, details)
    sentence = f"The number of blocks is not num_layers: there are {found} where {layers} were asked for."
    return Wrong("wrong-number-of-blocks", sentence, details)


def _alike(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def _with_article(name: str) -> str:
    return f"an {name}" if name[0] in "AEIOUR" else f"a {name}"
