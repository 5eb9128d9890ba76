"""Exercise pretrained.blocks: an experiment of the learner's, and whether its conclusion follows from its numbers."""

from collections.abc import Mapping

import numpy as np

from vit_course.checks.exercise import exercise
from vit_course.checks.pretrained.overlaps import RIGHT, SENTENCES, SLIPS
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.experiments import paired, recognised, shares
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.words import describe

BLOCKS, UNCLEAR = (2, 5, 8, 11), "unclear"


@exercise("10.4", "Which block describes objects best?", section="What the tokens know", difficulty=2, minutes=15)
def blocks(answer):
    """`answer()` -> ({block: [one overlap a run]}, the number of the best block or "unclear")."""
    overlaps, conclusion = _pair(call(answer))
    runs = {block: shares(overlaps[block], f"block {block}", what="overlap", may_repeat=True) for block in BLOCKS}
    paired({f"block {block}": values for block, values in runs.items()}, each="labelled photograph")
    _plausible(runs)
    found = next((block for block in BLOCKS if _ahead(runs, block)), UNCLEAR)
    if isinstance(conclusion, str):
        conclusion = conclusion.strip().lower()
    if isinstance(conclusion, str) and conclusion.isdigit():
        raise Wrong("number-as-text", f"{describe(conclusion)} is text: the conclusion is a number, or 'unclear'.")
    if conclusion is None or (
        conclusion != UNCLEAR and (isinstance(conclusion, str) or real(conclusion) not in BLOCKS)
    ):
        raise Wrong("no-such-option", f"{describe(conclusion)} is neither a block of the experiment nor 'unclear'.")
    if conclusion == found:
        return
    if conclusion == UNCLEAR:
        raise Wrong("too-careful", "One block is ahead of all others in every run: by the rule, that is clear.")
    sentence = "By your own numbers that block is not ahead of all others in every run."
    raise Wrong("does-not-follow", sentence, _not_ahead(runs, int(real(conclusion))))


def _pair(received) -> tuple[Mapping, object]:
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, (tuple, list)) or len(received) != 2 or not isinstance(received[0], Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict and a conclusion are expected.")
    if any(str(block) in received[0] for block in BLOCKS):
        raise Wrong(
            "number-as-text", "The blocks in the dict are text: a block is given by its number, without quotes."
        )
    if not any(isinstance(key, (int, float, np.number)) for key in received[0]):
        sentence = "The keys of the dict are to be the numbers of the blocks, each with one overlap a run."
        raise Wrong("other-keys", sentence, [f"Received: {', '.join(map(describe, received[0]))}"])
    missing = [block for block in BLOCKS if block not in received[0]]
    if missing:
        raise Wrong("block-missing", "Not all four blocks are there.", [f"Missing: {', '.join(map(str, missing))}"])
    return received


def _plausible(runs: dict[int, list[float]]) -> None:
    columns = list(zip(*runs.values(), strict=True))  # of each run the four blocks
    if all(len(set(column)) == 1 for column in columns):
        sentence = "All four blocks have the same numbers, as where one and the same tokens are used for each."
        raise Wrong("blocks-alike", sentence)
    # Another processor may turn a few patches.
    if slip := recognised(columns, RIGHT, SLIPS, near=0.012):
        raise Wrong(slip, SENTENCES[slip])
    every = [value for values in runs.values() for value in values]
    if len(set(every)) < len(every) // 2:
        raise Wrong("one-run-repeated", "Many of these numbers are the same: a run needs another labelled photograph.")
    means = {block: sum(values) / len(values) for block, values in runs.items()}
    if min(runs[11]) > 0.97:
        raise Wrong("labelled-counted", "These are too good: does the labelled photograph count in the mean?")
    # Measured for seven labelled photographs: 0.35 to 0.67 after block 2, 0.60 to 0.94 after block 11.
    if means[2] > 0.8 or means[11] < 0.5:
        raise Wrong("wrong-values", "These are not what vit-s14 gives.", _both(means))


def _both(means: dict[int, float]) -> list[str]:
    received = ", ".join(f"{mean:.2f} after block {block}" for block, mean in means.items())
    return ["Expected: about 0.5 after block 2, about 0.8 after block 11", f"Received: {received}"]


def _ahead(runs: dict[int, list[float]], block: int) -> bool:
    others = [values for other, values in runs.items() if other != block]
    return all(own > other for values in others for own, other in zip(runs[block], values, strict=True))


def _not_ahead(runs: dict[int, list[float]], block: int) -> list[str]:
    # The first run that speaks against it.
    for run, own in enumerate(runs[block]):
        for other in BLOCKS:
            if other != block and runs[other][run] >= own:
                return [f"Run {run + 1}: {own:.2f} after block {block}, {runs[other][run]:.2f} after block {other}"]
    return []
