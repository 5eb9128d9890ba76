"""The accountant of parameters: every reading of a number that is not the right one."""

from collections.abc import Mapping, Sequence

from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.modules import count
from vit_course.checks.tools.table import readings


def counted(module: nn.Module, right: Sequence[int], table: str, seen: Mapping, sizes: str) -> None:
    """Raises `Wrong` unless the module learns one of the right numbers of parameters.

    One number may have several readings, such as a norm too few and a table two rows short: the sentence has all.

    Args:
        module: the learner's.
        right: the right numbers, the largest first: such as with and without a bias.
        table: the check's `__name__`; the rows of "parameters" beside it say by how much a number is larger than
            `right`, by an expression of sizes, such as "-2 * hidden". `right` itself is a name there.
        seen: the sizes by name, such as the check's `locals()`.
        sizes: in words, such as "D = 6".
    """
    found = count(module)
    if found in right:
        return
    details = [f"Expected: {max(right)} parameters at {sizes}", f"Received: {found}"]
    said: dict[int, tuple[str, str]] = {}
    for one in right:
        said |= readings(table, "parameters", found - one, {**seen, "right": one})
    if not said:
        raise Wrong("wrong-parameters", "The number of parameters is wrong.", details)
    (slug, first), *others = (said[number] for number in sorted(said))
    also = "".join(f" Or: {other[0].lower()}{other[1:]}" for _, other in others if other != first)
    raise Wrong(slug, f"{first}{also}", details)
