"""Reads what goes wrong in an exercise from the tables beside it: NAME.toml, a row a mistake.

A row is a slug, a sentence that says what was done, never what to write, and one expression or several. What an
expression is depends on who asks:

    table          of the arguments: what a learner's function may give in place of the right result
        [mistakes]
        of = "maps"                 the arguments
        pairs = 2                   so many of each step are also looked for together with those of another step
        result = [                  what the whole function gives
          ["heads-summed", "The heads are added up, and the rows sum to h.", "maps.sum(1)"],
        ]
        scale = [ ... ]             any other key is a step, a keyword of the right function; the expression its value
    values         of what the check has seen: a wrong shape, count or number, under `rows`
    readings       the same, and all rows that have a value
    right_answers  none: the table `right` holds the answers that were worked out by hand
    by_answer      as values, under the name of each of these
    refuse         of what the check has seen: whether it is so, under `rows`
    known          none: a row of `errors` is a pattern of what an error or a shape says, a slug and a sentence

Of all of these, `module` is the check's `__name__`, beside whose file the tables lie, and `name` that of the table.
Expressions see what the check's module has, what they are given in `seen`, such as the check's `locals()`, and torch,
F, math, rearrange, agree, inf and nan. A word in place of a row stands for the rows of that name in
`tools/shared.toml`: the slips of a step that several exercises have.
"""

import functools
import importlib.resources
import math
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations

import torch
import torch.nn.functional as F
from einops import rearrange

from vit_course.checks.report import Wrong
from vit_course.checks.tools.slips import Known, Mistake
from vit_course.checks.tools.tensors import agree

COMMON = dict(torch=torch, F=F, math=math, rearrange=rearrange, agree=agree, inf=math.inf, nan=math.nan)
_NO_STEPS = ("of", "pairs", "errors")


def _evaluated(expression: str, names: Mapping):
    return eval(_compiled(expression), names)  # noqa: S307: an expression of ours


@functools.cache
def _compiled(expression: str):
    return compile(expression, expression, "eval")


@functools.cache
def _read(module: str) -> dict:
    folder, _, file = module.rpartition(".")
    return tomllib.loads((importlib.resources.files(folder) / f"{file}.toml").read_text(encoding="utf-8"))


def _with_shared(rows: list, step: str) -> list:
    return [
        row for one in rows for row in (_read(f"{__package__}.shared")[step][one] if isinstance(one, str) else [one])
    ]


def _names(module: str, seen: Mapping | None) -> dict:
    return COMMON | getattr(sys.modules.get(module), "__dict__", {}) | (seen or {})  # none of a check without code


def _by_value(rows: list, names: Mapping) -> dict:
    found = {}
    for slug, sentence, *expressions in rows:
        for expression in expressions:
            found.setdefault(_evaluated(expression, names), (slug, sentence))
    return found


def table(
    module: str, name: str, right: Callable | None = None, only: Sequence[str] = (), seen: Mapping | None = None
) -> list[Mistake]:
    """The mistakes of one table, in its order; those of two steps together come after all single ones.

    Args:
        right: the right function, with a keyword for each step; not needed where the table has no steps.
        only: these steps alone, each slip by itself.
    """
    said, names = _read(module)[name], _names(module, seen)
    mistakes, often = [], []
    for step, rows in said.items():
        if step in _NO_STEPS or (only and step not in only):
            continue
        found = []
        for slug, sentence, *expressions in _with_shared(rows, step):
            for expression in expressions:
                if step.startswith("result"):
                    mistakes.append(Mistake(slug, sentence, _evaluated(f"lambda {said['of']}: {expression}", names)))
                else:
                    found.append((slug, sentence, {step: _evaluated(expression, names)}))
        mistakes += [Mistake(slug, sentence, partial(right, **wrong)) for slug, sentence, wrong in found]
        often.append([] if only else found[: said.get("pairs", 0)])
    for one, other in combinations(often, 2):
        for slug, sentence, wrong in one:
            for second, more, beside in other:
                both = partial(right, **wrong, **beside)
                mistakes.append(Mistake(f"{slug}-and-{second}", f"Two things are wrong. {sentence} {more}", both))
    return mistakes


def known(module: str, name: str, seen: Mapping | None = None) -> list[Known]:
    """What errors and shapes say, by one table; in a pattern <<x>> stands for what x is among `seen`."""
    names = _names(module, seen)

    def filled(pattern: str) -> str:
        return re.sub(r"<<(.+?)>>", lambda found: str(_evaluated(found[1], names)), pattern)

    return [Known(filled(pattern), slug, sentence) for pattern, slug, sentence in _read(module)[name]["errors"]]


def values(module: str, name: str, seen: Mapping | None = None) -> dict:
    """What a value says: from each value of the expressions to (slug, sentence); the first row that has it counts."""
    return _by_value(_read(module)[name]["rows"], _names(module, seen))


def readings(module: str, name: str, value, seen: Mapping) -> dict[int, tuple[str, str]]:
    """(slug, sentence) of every row of a table of values that has this value, by the row's number; see `values`."""
    names = _names(module, seen)
    return {
        number: (slug, sentence)
        for number, (slug, sentence, *expressions) in enumerate(_read(module)[name]["rows"])
        if any(_evaluated(expression, names) == value for expression in expressions)
    }


def right_answers(module: str) -> dict:
    """The answers worked out by hand: the table "right", a list of it as a tuple."""
    return {name: tuple(one) if isinstance(one, list) else one for name, one in _read(module)["right"].items()}


def by_answer(module: str, name: str, seen: Mapping | None = None) -> dict[str, dict]:
    """The same for a table with rows for each answer of a dict, by its name there; see `same_answers`.

    A word in place of a row stands for the rows of the table of that name, whose expressions also see what is `right`.
    """
    read, names, found = _read(module), _names(module, seen), {}
    for answer, rows in read[name].items():
        whole = [row for one in rows for row in (read[one]["rows"] if isinstance(one, str) else [one])]
        found[answer] = _by_value(whole, names | {"right": read.get("right", {}).get(answer)})
    return found


def refuse(module: str, name: str, seen: Mapping, details: Sequence[str] = (), **pictures) -> None:
    """Raises `Wrong` by the first row whose expression is true of what the check has seen; else nothing happens.

    A sentence may have slots for the same names, such as {width}; `details` and `pictures` are those of the `Wrong`.
    """
    names = _names(module, seen)
    for slug, sentence, *expressions in _read(module)[name]["rows"]:
        if any(_evaluated(expression, names) for expression in expressions):
            raise Wrong(slug, sentence.format_map(names), details, **pictures)


def refuse_number(module: str, name: str, received: float, seen: Mapping, details: Sequence[str]) -> None:
    """Raises `Wrong` by the first row that has the number, to 0.01 %; see `refuse` and `values`."""
    for value, said in values(module, name, seen).items():
        if math.isclose(received, value, rel_tol=1e-4, abs_tol=1e-9):
            raise Wrong(*said, details)
