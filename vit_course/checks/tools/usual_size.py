"""A function that is right at the usual size alone, such as three channels."""

import copy
from collections.abc import Callable, Sequence

from vit_course.checks.tools.calling import ask
from vit_course.checks.tools.functions import Mistake
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.usual import given


def right_at(
    answer: Callable, reference: Callable, draws: Sequence[tuple], slug: str, sentence: str, usual: Sequence[tuple]
) -> Mistake:
    """The mistake of a function that is right at the usual size alone.

    Args:
        answer: the learner's function.
        reference: the right one, which returns a tensor.
        draws: the arguments that both will be given, the first of another size.
        slug, sentence: of the mistake.
        usual: arguments of the usual size, and else of sizes as in the draws.
    """

    def function(*arguments):
        if _right_on(answer, reference, draws[0]) or not all(_right_on(answer, reference, one) for one in usual):
            raise LookupError("right at other sizes too, or wrong at this one")
        return ask(answer, *copy.deepcopy(arguments))

    return Mistake(slug, sentence, function)


def _right_on(answer: Callable, reference: Callable, arguments: tuple) -> bool:
    try:
        return agree(given(answer, *arguments), reference(*arguments))
    except LookupError:
        return False
