"""Exercise pretrained.blocks: an experiment of the learner's, and whether its conclusion follows from its numbers."""

import functools

import torch

from vit_course import pretrained
from vit_course.checks.report import Wrong
from vit_course.checks.tools.chapter import of_chapter
from vit_course.checks.tools.experiments import choice, last_digit, made_again, reported
from vit_course.checks.tools.mistakes import Slip

BLOCKS, UNCLEAR = ("block 2", "block 5", "block 8", "block 11"), "unclear"


def blocks(answer, draw):
    """`answer()` -> {"photographs": [...], "block 2": [an overlap for each], ..., "conclusion": such as "block 2"}."""
    (seven,) = of_chapter("10_pretrained", "seven")
    received, labelled, found = reported(answer, BLOCKS, "conclusion", photographs=seven, what="overlap")
    said = choice(received["conclusion"], "conclusion", (*BLOCKS, UNCLEAR))
    # Another processor may turn a few patches.
    made_again(
        found, {"photograph": labelled}, _overlap, draw, lambda block: last_digit(found[block]) + 0.01, slips=AGAIN
    )
    runs = [dict(zip(BLOCKS, run, strict=True)) for run in zip(*found.values(), strict=True)]
    ahead = [_ahead(run) for run in runs]
    right = ahead[0] if len(set(ahead)) == 1 else UNCLEAR
    if said == UNCLEAR != right:
        raise Wrong("too-careful", "One block is ahead of all others in every run: by the rule, the result is clear.")
    if said != right:
        run = next(run for run, block in enumerate(ahead) if block != said)
        details = [f"{labelled[run]}: {', '.join(f'{one:.2f} after {block}' for block, one in runs[run].items())}"]
        sentence = "By your own numbers, that block is not ahead of all others in every run."
        raise Wrong("does-not-follow", sentence, details)


def _ahead(run: dict[str, float]) -> str:
    *_, second, first = sorted(run, key=run.get)
    return first if run[first] > run[second] else UNCLEAR


def _overlap(block: str, photograph: str, **other) -> float:
    """The mean over the six others, as the learner is to take it."""
    shares, own = _shares(block, photograph, **other)
    return ((shares.sum() - own) / 6).item()


@functools.cache
def _shares(block: str, photograph: str, part="after MLP", first=1, alike=None) -> tuple[torch.Tensor, torch.Tensor]:
    """(7,) and (): the overlap in each photograph, and in the labelled one.

    Args:
        block, photograph: which block's tokens, and which photograph is labelled.
        part: of the block, after which the tokens are taken.
        first: of them that counts as a patch.
        alike: (7, N), (7, N) -> (7,) in place of the overlap, of patches marked and patches on the object.
    """
    seven, object_on, overlap = of_chapter("10_pretrained", "seven", "object_on", "overlap")
    tokens, number = _tokens()[f"{block}: {part}"][:, first : first + object_on.shape[1]], seven.index(photograph)
    head = pretrained.fit_linear_head(tokens[number], object_on[number].long())
    marked = head(tokens).argmax(dim=-1).bool()  # (7, N)
    shares = alike(marked, object_on) if alike else overlap(marked)
    return shares, shares[number]


@functools.cache
def _tokens() -> dict[str, torch.Tensor]:
    reference, many = of_chapter("10_pretrained", "reference", "many")
    found = pretrained.stages(reference, many)
    return {stage: tokens for stage, tokens in found.items() if ": after " in stage}  # (7, T, D); the rest is large


# What slips give in place of the overlap of one block, with one photograph labelled.
AGAIN = [
    Slip(
        "labelled-counted",
        "This is a mean over all seven photographs: the head has seen the labels of one of them.",
        lambda setting, source: _shares(setting, source)[0].mean().item(),
    ),
    Slip(
        "labelled-alone",
        "This is the overlap on the labelled photograph itself, which the head has seen.",
        lambda setting, source: _shares(setting, source)[1].item(),
    ),
    Slip(
        "divided-by-seven",
        "The sum over six photographs is divided by seven.",
        lambda setting, source: _overlap(setting, source) * 6 / 7,
    ),
    Slip(
        "block-before",
        "These are the tokens of the previous block.",
        lambda setting, source: _overlap(f"block {int(setting[6:]) - 1}", source),
    ),
    Slip(
        "class-token-kept",
        "The class token counts as a patch and the last patch is missing, so labels and tokens are shifted.",
        lambda setting, source: _overlap(setting, source, first=0),
    ),
    Slip(
        "before-the-mlp",
        "These are the tokens between the attention and the MLP of the block, not those after it.",
        lambda setting, source: _overlap(setting, source, part="after attention"),
    ),
    Slip(
        "accuracies",
        "This is the share of correct patches; the overlap leaves out what both call background.",
        lambda setting, source: _overlap(setting, source, alike=lambda marked, on: (marked == on).float().mean(dim=1)),
    ),
]
