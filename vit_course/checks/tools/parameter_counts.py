"""Explains a wrong number of parameters by every mistake that would give it."""

from collections.abc import Mapping, Sequence

from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.mistakes import Mistake
from vit_course.checks.tools.modules import count


def check_count(module: nn.Module, right: Mapping[int, Sequence[Mistake]], sizes: str) -> None:
    """Raises `Wrong` unless the module learns one of the right numbers of parameters.

    A wrong number may have several explanations, such as a missing norm or a table two rows short; all are listed.

    Args:
        module: the learner's.
        right: from each right number, such as with and without a bias, to the mistakes that give another one; their
            forms say by how much it is larger, such as -2 * hidden.
        sizes: in words, such as "D = 6".
    """
    found = count(module)
    if found in right:
        return
    details = [f"Expected: {max(right)} parameters at {sizes}", f"Received: {found}"]
    fitting = [one for number, mistakes in right.items() for one in mistakes if found - number in one.forms]
    if not fitting:
        raise Wrong("wrong-parameters", "The number of parameters is wrong.", details)
    first, *others = dict.fromkeys(one.sentence for one in fitting)
    also = "".join(f" Or: {other[0].lower()}{other[1:]}" for other in others)
    raise Wrong(fitting[0].slug, f"{first}{also}", details)
