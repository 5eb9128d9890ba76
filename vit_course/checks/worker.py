"""A thread of its own for the learner's code, so that nothing of a check stands below it on the stack."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import SimpleQueue

import torch

from vit_course.checks.snapshot import Library, Settings

_local = threading.local()


class Left(Exception):
    """A call has changed what it must leave alone: `what`, such as "gradients" or "torch.allclose"."""

    def __init__(self, what: str):
        super().__init__(f"{what} is not what it was before the call")
        self.what = what


@dataclass
class _Asked:
    function: Callable
    arguments: tuple
    keywords: dict
    gradients: bool
    gradients_after: bool = True
    result: object = None
    error: BaseException | None = None
    done: threading.Event = field(default_factory=threading.Event)


class Worker:
    """Runs one call at a time, in `thread`, until `ended` is set.

    After each, settings and libraries are as they were before.
    """

    def __init__(self):
        self.ended = threading.Event()
        self._settings, self._library = Settings(), Library()
        self._asked: SimpleQueue[_Asked | None] = SimpleQueue()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def use(self) -> None:
        """From now on `run` sends the calls of the present thread here."""
        _local.worker = self

    def end(self) -> None:
        """Ends the thread once it is free."""
        self._asked.put(None)

    def run(self, function: Callable, arguments: tuple, keywords: dict):
        """What the function returns or raises there, with or without gradients as here.

        Raises:
            Left: it returned and has replaced a function of a library, or switched gradients on or off.
        """
        asked = _Asked(function, arguments, keywords, torch.is_grad_enabled())
        self._asked.put(asked)
        asked.done.wait()
        self._settings.restore()
        replaced = self._library.restore()
        if asked.error is not None:
            raise asked.error
        if replaced:
            raise Left(replaced)
        if asked.gradients_after != asked.gradients:
            raise Left("gradients")
        return asked.result

    def _work(self) -> None:
        asked = True
        while asked:
            try:
                if asked := self._asked.get():
                    _carry_out(asked)
            except BaseException:  # one that was thrown in to stop a call which had just ended
                continue
        self.ended.set()


def run(function: Callable, *arguments, **keywords):
    """Calls the function in the worker of this thread; directly where there is none, as in the worker itself."""
    worker = getattr(_local, "worker", None)
    return worker.run(function, arguments, keywords) if worker else function(*arguments, **keywords)


def _carry_out(asked: _Asked) -> None:
    # The mode is set bare: leaving a `with` would hide that the function has changed it.
    torch.set_grad_enabled(asked.gradients)
    try:
        asked.result = asked.function(*asked.arguments, **asked.keywords)
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the learner's code too
        asked.error = error
    finally:
        asked.gradients_after = torch.is_grad_enabled()
        asked.done.set()
