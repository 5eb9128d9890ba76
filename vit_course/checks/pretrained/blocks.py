"""Exercise pretrained.blocks: an experiment of the learner's, and whether its conclusion follows from its numbers."""

import functools

import torch

from vit_course import pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import choice, last_digit, reported, rerun
from vit_course.checks.tools.mistakes import Mistake

BLOCKS, UNCLEAR = ("block 2", "block 5", "block 8", "block 11"), "unclear"


def blocks(answer, draw):
    """`answer()` -> {"photographs": [...], "block 2": [an overlap for each], ..., "conclusion": such as "block 2"}."""
    (seven,) = of_chapter("10_pretrained", "seven")
    received, labelled, found = reported(answer, BLOCKS, "conclusion", photographs=seven, what="overlap")
    conclusion = choice(received["conclusion"], "conclusion", (*BLOCKS, UNCLEAR))

    def near(block: str) -> float:
        return last_digit(found[block]) + 0.01  # another processor may turn a few patches

    rerun(found, {"photograph": labelled}, _overlap, draw, near, mistakes=MISTAKES)
    runs = [dict(zip(BLOCKS, run, strict=True)) for run in zip(*found.values(), strict=True)]
    ahead = {_block_ahead(run) for run in runs}
    if {conclusion} != (ahead if len(ahead) == 1 else {UNCLEAR}):
        sentence = "By the rule, another conclusion follows from your own numbers."
        details = [
            f"{name}: {', '.join(f'{overlap:.2f} after {block}' for block, overlap in run.items())}"
            for name, run in zip(labelled, runs, strict=True)
        ]
        raise Wrong("does-not-follow", sentence, details)


def _block_ahead(run: dict[str, float]) -> str:
    *_, second, first = sorted(run, key=run.get)
    return first if run[first] > run[second] else UNCLEAR


def _overlap(block: str, photograph: str) -> float:
    """The mean over the six others, as the learner is to take it."""
    overlaps, number = _overlaps(block, photograph)
    return ((overlaps.sum() - overlaps[number]) / 6).item()


def _overlap_of_all(block: str, photograph: str) -> float:
    overlaps, _ = _overlaps(block, photograph)
    return overlaps.mean().item()


@functools.cache
def _overlaps(block: str, photograph: str) -> tuple[torch.Tensor, int]:
    """(7,): the overlap in each photograph with one of them labelled; and the number of this one."""
    seven, object_on, overlap = of_chapter("10_pretrained", "seven", "object_on", "overlap")
    tokens, number = _tokens()[f"{block}: after MLP"][:, 1:], seven.index(photograph)  # (7, N, D)
    head = pretrained.fit_linear_head(tokens[number], object_on[number].long())
    return overlap(head(tokens).argmax(dim=-1).bool()), number


@functools.cache
def _tokens() -> dict[str, torch.Tensor]:
    reference, many = of_chapter("10_pretrained", "reference", "many")
    found = pretrained.stages(reference, many)
    return {stage: tokens for stage, tokens in found.items() if ": after MLP" in stage}  # (7, T, D); the rest is large


MISTAKES = [
    Mistake(  # taught
        "labelled-counted",
        "This is a mean over all seven photographs: the head has seen the labels of one of them.",
        _overlap_of_all,
    ),
]
