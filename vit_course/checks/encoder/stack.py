"""Exercise encoder.stack: a stack of blocks, to be mended."""

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.encoder.shared import named, repeats, set_norms, trains
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import build, count
from vit_course.checks.tools.tensors import agree, tensor
from vit_course.encoder import NORM_EPSILON, EncoderBlock


@exercise("Debug a stack of blocks", section="The block, in two lines", difficulty=2, minutes=10)
def stack(answer, draw):
    """`answer(make_block, num_layers, hidden_dim)` -> a module (B, T, D) -> (B, T, D); make_block() gives a block."""
    for layers in (3, 4):
        batch, tokens = draw.sizes(2)
        heads, width = draw.choose([(2, 5), (3, 4), (4, 3), (5, 2)])
        hidden = heads * width
        made = []

        def make_block(heads=heads, hidden=hidden, made=made):
            made.append(EncoderBlock(hidden, heads, 2 * hidden))
            for parameter in made[-1].parameters():
                parameter.data = 2 * hidden**-0.5 * draw.normal(*parameter.shape)
            return made[-1]

        module = _build_stack(answer, make_block, layers, hidden)
        before = len(made)
        x = 10 * draw.normal(batch, tokens, hidden)
        tensor(call(module, x), x.shape, "(B, T, D)", "the output")
        if len(made) > before:
            raise Wrong("blocks-made-in-forward", "New blocks are made each time that tokens pass.")
        module.eval()
        repeats(module, x)
        _stack_parameters(module, made, layers, hidden)
        _stack_values(module, x, made, 0.5 + draw.uniform(hidden))
        trains(module, x)


def _build_stack(answer, make_block, layers: int, hidden: int) -> nn.Module:
    try:
        return build(answer, make_block, layers, hidden)
    except Wrong as wrong:
        text = wrong.details[0] if wrong.details else ""
        if "is not a Module subclass" in text:
            if "list is" in text or "generator is" in text:
                mistake, sentence = "list-as-one-module", "A list of blocks is handed over as if it were one module."
            else:
                mistake, sentence = "factory-not-called", "In the place of a block stands the function that makes one."
            raise Wrong(mistake, sentence, wrong.details) from None
        raise


def _stack_parameters(module: nn.Module, made, layers: int, hidden: int) -> None:
    each, norm, found = count(made[0]) if made else 0, 2 * hidden, count(module)
    parts = set(module.modules())
    details = [
        f"Expected: {layers * each + norm} parameters with {layers} blocks of {each}, at D = {hidden}",
        f"Received: {found}",
    ]
    if not made:
        raise Wrong("no-blocks", "No block is made.", details)
    if found in (0, norm):
        raise Wrong(
            "blocks-not-registered",
            "The blocks are no parts of the module: they would not be trained and not be saved.",
            details,
        )
    if found in (each, each + norm):
        if len(made) > 1:
            raise Wrong("blocks-overwritten", "Several blocks are made, and one of them is kept.", details)
        raise Wrong("same-block", "One block is used again and again: all layers share their weights.", details)
    if found in (layers * (each + norm), layers * (each + norm) + norm):
        raise Wrong("norm-for-every-block", "There is a further norm for every block.", details)
    for difference in (-1, 1):
        if found in ((layers + difference) * each, (layers + difference) * each + norm):
            word = "less" if difference < 0 else "more"
            raise Wrong(f"one-block-{word}", f"There is one block {word} than was asked for.", details)
    if found not in (layers * each, layers * each + norm):
        raise Wrong("wrong-parameters", "The number of parameters is not that of the encoder.", details)
    if sum(block in parts for block in made) < layers:
        raise Wrong("copies-start-alike", "The blocks are copies of each other: they start with the same weights.")


def _stack_values(module: nn.Module, x: torch.Tensor, made, values: torch.Tensor) -> None:
    parts = set(module.modules())
    blocks = [block for block in made if block in parts]
    found = set_norms(module, blocks, values)

    def n(z):
        return F.layer_norm(z, values.shape, values, values, NORM_EPSILON)

    def plain(z):
        return F.layer_norm(z, values.shape, eps=NORM_EPSILON)

    def run(z, before=lambda z: z, after=lambda z: z, around=0, blocks=blocks):
        for block in blocks:
            z = around * z + after(block(before(z)))
        return z

    with torch.no_grad():
        received, expected = call(module, x), n(run(x))
        if agree(received, n(run(x, blocks=blocks[::-1]))):  # made in the other order: as good
            return
        variants = [
            ("no-last-norm", "The stream leaves the last block, and no norm follows.", run(x)),
            (
                "norm-after-every-block",
                "The last norm runs after every block, in the way of the stream.",
                run(x, after=n),
            ),
            ("norm-first", "The last norm runs before the first block.", run(n(x))),
            ("norm-before-every-block", "The last norm runs before every block.", run(x, before=n)),
            ("norm-before-every-block", "The last norm runs before every block too.", n(run(x, before=n))),
            (
                "residual-around-blocks",
                "The input of each block is added to its output, though a block does so itself.",
                n(run(x, around=1)),
            ),
            ("blocks-not-chained", "Every block gets the first tokens, and the last one's output stays.",
             n(blocks[-1](x))),
            ("blocks-not-chained", "Every block gets the first tokens, and their outputs are added up.",
             n(sum(block(x) for block in blocks))),
            ("first-block-only", "Only the first block has a part in the output.", n(blocks[0](x))),
            ("first-block-only", "The first block runs again and again, and the others not at all.",
             n(run(x, blocks=blocks[:1] * len(blocks)))),
            ("no-block-used", "No block has a part in the output.", n(x)),
        ]  # fmt: skip
        if found == 0:
            variants.insert(
                0, ("norm-without-parameters", "The last norm has no scale and no shift that are learned.",
                    plain(run(x)))
            )  # fmt: skip
        named(received, expected, variants, context=["Scale and shift of the last norm were set to known values."])
