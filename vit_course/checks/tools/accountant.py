"""The accountant of parameters: every reading of a number that is not the right one."""

from collections.abc import Mapping, Sequence

from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.mistakes import Slip
from vit_course.checks.tools.modules import count


def counted(module: nn.Module, right: Sequence[int], slips: Sequence[Slip], seen: Mapping, sizes: str) -> None:
    """Raises `Wrong` unless the module learns one of the right numbers of parameters.

    One number may have several readings, such as a norm too few and a table two rows short: the sentence has all.

    Args:
        module: the learner's.
        right: the right numbers, the largest first: such as with and without a bias.
        slips: their forms say by how much a number is larger than `right`, such as `lambda hidden: -2 * hidden`.
        seen: the sizes that they name; `right` itself is one of them.
        sizes: in words, such as "D = 6".
    """
    found = count(module)
    if found in right:
        return
    details = [f"Expected: {max(right)} parameters at {sizes}", f"Received: {found}"]
    said: dict[int, tuple[str, str]] = {}
    for one in right:
        for number, slip in enumerate(slips):
            if found - one in slip.values({**seen, "right": one}):
                said[number] = (slip.slug, slip.sentence)
    if not said:
        raise Wrong("wrong-parameters", "The number of parameters is wrong.", details)
    (slug, first), *others = (said[number] for number in sorted(said))
    also = "".join(f" Or: {other[0].lower()}{other[1:]}" for _, other in others if other != first)
    raise Wrong(slug, f"{first}{also}", details)
