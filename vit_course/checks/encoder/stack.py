"""Exercise encoder.stack: a stack of blocks, to be mended."""

import contextlib

import torch
from torch import nn

from vit_course.checks.encoder.stack_parts import Factory, right_parts
from vit_course.checks.encoder.stack_values import right_values, second_fault
from vit_course.checks.report import Wrong
from vit_course.checks.tools.axes import axes_named
from vit_course.checks.tools.mistakes import Known, named_by_details
from vit_course.checks.tools.modules import alone, build, feed, repeats, same_in_training, trained_by
from vit_course.checks.tools.tensors import tensor


def stack(answer, draw):
    """`answer(make_block, num_layers, hidden_dim)` -> a module (B, T, D) -> (B, T, D); make_block() gives a block."""
    for layers in (3, 4):
        batch, tokens = draw.sizes(2)
        heads, width = draw.choose([(2, 5), (3, 4), (4, 3), (5, 2)])
        hidden = heads * width

        def sized(layers, hidden=hidden, heads=heads) -> tuple[nn.Module, Factory]:
            factory = Factory(hidden, heads, draw)
            with named_by_details(*BUILT, of=("raised-error",)):
                return build(answer, factory.make_block, layers, hidden), factory

        module, factory = sized(layers)
        x = 10 * draw.normal(batch, tokens, hidden)
        first = _first_output(module, factory, x)
        axes = {"B": (batch, "images"), "T": (tokens, "tokens"), "D": (hidden, "hidden width")}
        with axes_named(axes | {"L * D": (layers * hidden, "all blocks")}, asked="(B, T, D)"):
            tensor(first, x.shape, "(B, T, D)", "the output")
        module.eval()
        repeats(module, x, "random-in-evaluation")
        alone(module, x)
        norm = 0.5 + draw.uniform(hidden)
        try:
            right_parts(module, factory, layers, sized)
        except Wrong as wrong:
            other = second_fault(module, factory, x, norm) if wrong.mistake in _BESIDE else None
            sentence = f"Two things are wrong. {wrong.sentence} {other}" if other else wrong.sentence
            raise Wrong(wrong.mistake, sentence, wrong.details) from None
        right_values(module, factory, x, norm)
        same_in_training(module, x)  # the blocks that are handed in have no dropout
        trained_by(module, x, draw, through=True)


def _first_output(module: nn.Module, factory: Factory, x: torch.Tensor):
    before = len(factory.made)
    with named_by_details(*FED, of=("raised-error",)):
        out = feed(module, x)
    made, factory.first_run = len(factory.made), len(factory.ran)
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


# Beside these the way through the blocks may be wrong too.
_BESIDE = {"same-block", "copies-start-alike", "number-of-blocks-fixed", "one-block-less", "one-block-more"}


BUILT = [
    Known(
        "(<genexpr>|generator) is not a Module",
        "generator-as-one-module",
        "A generator of blocks is passed as if it were one module.",
    ),
    Known("list is not a Module", "list-as-one-module", "A list of blocks is passed as if it were one module."),
    Known("is not a Module", "factory-not-called", "The function that makes a block is used in place of a block."),
    Known(
        "(int.* is not iterable|iterable, but got int)",
        "number-as-a-list",
        "A number is passed where a list of blocks is needed.",
    ),
    Known(
        "(function|method).* is not iterable|iterable, but got (function|method)",
        "block-as-a-list",
        "The function that makes a block is passed where a list of blocks is needed.",
    ),
    Known(
        "is not iterable|should be called with an iterable",
        "block-as-a-list",
        "One block is passed where a list of blocks is needed.",
    ),
    Known(
        r"unsupported operand type\(s\) for \*",
        "block-multiplied",
        (
            "A block is multiplied by a number, which is impossible; a list multiplied that way would hold one "
            "block many times."
        ),
    ),
    Known(
        r"make_block\(\) (takes|got)",
        "factory-with-arguments",
        "make_block is called with an argument, but it takes none.",
    ),
    Known(
        r"takes \d+ positional arguments? but \d+ were given|missing \d+ required positional",
        "constructor-arguments",
        "The constructor does not take the arguments of the stub.",
    ),
]

FED = [
    Known(
        r"make_block\(\) (takes|got)",
        "factory-not-called",
        "The tokens are passed to the function that makes a block, not to a block.",
    ),
    Known("NoneType' object is not callable", "none-for-a-block", "There is None in place of a block."),
    Known(
        r'Module \[ModuleList\] is missing the required "forward"',
        "list-called",
        "A ModuleList is called as if it were one module: it holds the blocks, but does not run them.",
    ),
    Known("Given normalized_shape=", "norm-of-another-size", "The last norm is not built for the hidden width."),
    Known(
        "'(list|tuple)' object is not callable", "list-called", "A list of blocks is called as if it were one module."
    ),
]
