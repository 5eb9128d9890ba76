"""A dict that came back, with the names that were asked for."""

from collections.abc import Iterable, Mapping

from vit_course.checks.report import Wrong
from vit_course.checks.tools.words import describe


def named(received, names: Iterable[str]) -> Mapping:
    """The learner's dict, or a `Wrong` where it is none or has other names."""
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict is expected.")
    names = tuple(names)
    missing = sorted(name for name in names if name not in received)
    extra = sorted(describe(name) for name in received if name not in names)
    if missing or extra:
        raise Wrong(
            "wrong-keys",
            "The names in the dict are not the ones that the exercise asks for.",
            [f"Missing: {', '.join(missing) or 'none'}", f"Not asked for: {', '.join(extra) or 'none'}"],
        )
    return received
