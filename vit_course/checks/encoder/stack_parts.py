"""The parts of a stack of blocks: how many blocks there are, whether each is its own, and what is beside them."""

from collections.abc import Callable

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.mistakes import Slip, refuse
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
    each, width, found = count(made[0]), made[0].norm1.weight.numel(), len(blocks)
    norm = 2 * width
    details = [
        f"Expected: {layers * each + norm} parameters with {layers} blocks of {each}, at D = {width}",
        f"Received: {count(module)}",
    ]
    rest = count(module) - sum(map(count, blocks))
    other = next((type(part).__name__ for part in module.modules() if isinstance(part, _OTHER_NORMS)), None)
    alike = any(_alike(a, b) for number, a in enumerate(blocks) for b in blocks[:number])

    def numbers_are(right: Callable[[int], int]) -> bool:
        # Whether there are so many blocks whatever the number of layers is.
        for others in (layers, 2, 5):
            module, factory = sized(others)
            if len(factory.blocks_in(module)) != right(others):
                return False
        return True

    refuse(
        PARTS,
        dict(
            factory=factory,
            layers=layers,
            norm=norm,
            rest=rest,
            other=other,
            alike=alike,
            blocks=blocks,
            made=made,
            width=width,
            found=found,
            numbers_are=numbers_are,
        ),
        details,
    )


def _alike(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


PARTS = [
    Slip(
        "blocks-not-registered",
        "The blocks are not part of the module: they would be neither trained nor saved.",
        lambda blocks: not blocks,
    ),
    Slip(
        "blocks-overwritten",
        "Several blocks are made, but only one of them is kept.",
        lambda found, made: found == 1 and len(made) > 1,
    ),
    Slip(
        "one-block",
        "There is one block and it runs once; the exercise asks for {layers} blocks.",
        lambda found, factory: found == 1 and factory.first_run <= 1,
    ),
    Slip(
        "same-block", "One block is used again and again, so all layers share their weights.", lambda found: found == 1
    ),
    Slip(
        "norm-for-every-block",
        "There is an extra norm for every block.",
        lambda rest, layers, norm: rest in (layers * norm, layers * norm + norm),
    ),
    Slip("another-norm", "The norm is of type {other}, not LayerNorm.", lambda other: other),
    Slip(
        "number-of-blocks-fixed",
        "The number of blocks is fixed, whatever num_layers is.",
        lambda found, layers, numbers_are: found != layers and numbers_are(lambda n: found),
    ),
    Slip(
        "one-block-less",
        "There is one block too few.",
        lambda found, layers, numbers_are: found != layers and numbers_are(lambda n: n - 1),
    ),
    Slip(
        "one-block-more",
        "There is one block too many.",
        lambda found, layers, numbers_are: found != layers and numbers_are(lambda n: n + 1),
    ),
    Slip(
        "twice-as-many-blocks",
        "There are twice as many blocks as there should be.",
        lambda found, layers, numbers_are: found != layers and numbers_are(lambda n: 2 * n),
    ),
    Slip(
        "wrong-number-of-blocks",
        "The number of blocks is not num_layers: there are {found} instead of {layers}.",
        lambda found, layers: found != layers,
    ),
    Slip(
        "norm-in-part", "Either the scale or the shift of the last norm is missing.", lambda rest, width: rest == width
    ),
    Slip(
        "wrong-parameters",
        "Besides the blocks, there are {rest} parameters; one norm has {norm}.",
        lambda rest, norm: rest not in (0, norm),
    ),
    Slip(
        "copies-start-alike",
        "The blocks are copies of each other: they start with the same weights.",
        lambda alike: alike,
    ),
]
