"""Cells of the notebook that failed: what they should have defined is still what it was before.

A learner who has a slip in a cell and runs the check below it would be told about the definition before the slip.
"""

import ast
import re
import sys

# Of what a cell would have defined at its outermost level.
_DEFINED = re.compile(r"^(?:async\s+)?(?:def|class)\s+(\w+)|^(\w+)\s*=[^=]", re.MULTILINE)


class _Watch:
    """Follows the cells of one kernel."""

    def __init__(self, shell):
        self._shell = shell
        self._before: dict[str, object] = {}
        self._running = ""
        self._failed: dict[str, str] = {}
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    def _begin(self, info) -> None:
        self._running = info.raw_cell or ""
        self._before = {name: self._shell.user_ns.get(name) for name in defined(self._running)}

    def _end(self, result) -> None:
        error = result.error_before_exec or result.error_in_exec
        for name, before in self._before.items():
            if error is None or self._shell.user_ns.get(name) is not before:
                self._failed.pop(name, None)
            else:
                line = getattr(error, "lineno", None)
                self._failed[name] = type(error).__name__ + (f", line {line}" if line else "")

    def failed_cell(self) -> str:
        """The sentence on the name that the running cell hands to a check, or "" where its own cell ran through."""
        for name in handed(self._running):
            if name in self._failed:
                return (
                    f"The cell that defines {name} ended in an error ({self._failed[name]}), so {name} is still what "
                    "it was before. Fix that cell, run it, then run the check."
                )
        return ""


_watch: _Watch | None = None


def kernel():
    """The shell of the notebook that this runs in, or None in a script or a test."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell if hasattr(shell, "kernel") else None


def watch() -> None:
    """Begins to follow the cells, where there are any."""
    global _watch
    if _watch is None and (shell := kernel()) is not None:
        _watch = _Watch(shell)


def failed_cell() -> str:
    """The sentence for a check that would judge an earlier definition, or ""."""
    return _watch.failed_cell() if _watch else ""


def defined(source: str) -> list[str]:
    """The names that a cell defines at its outermost level, also where it has a slip of syntax."""
    return [one or other for one, other in _DEFINED.findall(source)]


def handed(source: str) -> list[str]:
    """The names that a cell hands to functions, such as `mine` in `checks.attention.weights(mine)`."""
    try:
        calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    except SyntaxError:  # a magic
        return []
    return [argument.id for call in calls for argument in call.args if isinstance(argument, ast.Name)]
