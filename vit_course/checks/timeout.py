"""Runs code that may never return, print, exit or fail, in any notebook on any system.

A thread and not a process: the learner's function lives in the notebook and cannot be sent elsewhere, and the
signals that could interrupt it in place do not exist on Windows. Time is processor time, because on a busy machine a
right answer may take long by the clock.
"""

import contextlib
import ctypes
import functools
import io
import linecache
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType

import psutil
import torch

from vit_course.checks.snapshot import all_as_before, calls_restored

# Files under these are not the learner's.
_NOT_THEIRS = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
_PACKAGE = str(Path(__file__).parents[1])
_LONG = 60  # characters; a longer line is cut
# The limit by the clock: TIMES the processor seconds, but at least LEAST and at most MOST seconds more than those.
TIMES, LEAST, MOST = 6, 30, 300


class _Stop(BaseException):
    """Raised in a thread whose time is up. Not an Exception, so that `except Exception` does not catch it."""


@dataclass
class Outcome:
    """How the call went.

    Args:
        error: what the function raised, or None.
        timed_out: whether its time was up.
        used: the processor seconds that it used.
        busy: whether it was stopped by the clock because others had the processor.
        line: where the learner's code was when the time was up, or None.
        printed: the lines that it printed.
        interrupted: whether the user stopped it.
        still_running: whether the code could not be stopped.
    """

    error: BaseException | None = None
    timed_out: bool = False
    used: float = 0.0
    busy: bool = False
    line: str | None = None
    printed: int = 0
    interrupted: bool = False
    still_running: bool = False


def run_limited(function: Callable[[], object], seconds: float) -> Outcome:
    """Calls `function` in a thread for so many seconds of the processor; never raises what the function raises.

    Code that waits without using the processor, such as a sleep, is ended by the clock, after several times as many
    seconds.

    Output is suppressed, and its lines are counted. Settings, random states and libraries are restored at the end, and
    settings and libraries also after each call that it makes by `snapshot.run`.
    """
    _warm_up()
    outcome = Outcome()

    def work():
        try:
            with calls_restored():
                function()
        except BaseException as error:  # SystemExit and KeyboardInterrupt of the learner's code too
            outcome.error = error
        finally:
            ended.set()

    # Not thread.is_alive(): until Python 3.13 an interrupt during join() marks a thread as ended that still runs.
    ended = threading.Event()
    thread = threading.Thread(target=work, daemon=True)
    output = io.StringIO()
    with all_as_before(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        try:
            thread.start()
            outcome.used, working = _wait(ended, seconds, thread)
        except KeyboardInterrupt:  # the stop button
            outcome.interrupted = True
        if not ended.is_set():
            outcome.timed_out = not outcome.interrupted
            # Code that still works at the end of a long wait has had too little of the processor.
            outcome.busy = outcome.timed_out and working and outcome.used < seconds
            outcome.line = _line_of(sys._current_frames().get(thread.ident))
            outcome.still_running = not _stop(thread, ended)
    outcome.printed = len(output.getvalue().splitlines())
    return outcome


def learners_line(error: BaseException) -> str | None:
    """The last line of the learner's own code in the error's traceback, as "line 3: `x = y @ z`", or None."""
    found = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if _is_theirs(trace.tb_frame):
            found = _describe(trace.tb_frame, trace.tb_lineno, trace.tb_lasti)
        trace = trace.tb_next
    return found


@functools.cache
def _warm_up() -> None:
    # The first optimiser of a process imports modules for seconds, which must not count as the learner's time.
    torch.optim.SGD([torch.zeros(1, requires_grad=True)]).step()


def _wait(ended: threading.Event, seconds: float, thread: threading.Thread) -> tuple[float, bool]:
    # Waits until the thread has ended or its time is up; returns the processor seconds, and whether it used a few of
    # them in the last third of its time by the clock. The waits are short, because a long one could not be interrupted
    # on Windows, or by an exception from another thread.
    began, before, used, at_two_thirds = time.monotonic(), _processor_time(thread), 0.0, 0.0
    patience = min(max(TIMES * seconds, seconds + LEAST), seconds + MOST)
    while not ended.is_set() and used < seconds:
        ended.wait(0.1 if seconds > 1 else 0.02)
        clock = time.monotonic() - began
        used = min(clock, _processor_time(thread) - before)
        if clock < patience * 2 / 3:
            at_two_thirds = used
        if clock > patience:
            break
    return used, used - at_two_thirds > 0.1 * seconds / 3


def _processor_time(thread: threading.Thread) -> float:
    # Of this thread, or of the whole process where the system does not report threads; plus that of child processes.
    mine = psutil.Process()
    children = 0.0
    for child in mine.children(recursive=True):
        with contextlib.suppress(psutil.Error):
            children += sum(child.cpu_times()[:2])
    try:
        own = sum(one.user_time + one.system_time for one in mine.threads() if one.id == thread.native_id)
    except psutil.Error:
        own = time.process_time()
    return own + children


def _stop(thread: threading.Thread, ended: threading.Event) -> bool:
    # A thread left in a loop would slow down the kernel. The exception is raised repeatedly, because code such as
    # `while True: try ... except: pass` catches the first ones.
    end = time.monotonic() + 2
    while not ended.is_set() and time.monotonic() < end:
        with contextlib.suppress(KeyboardInterrupt):  # the stop button, pressed twice
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Stop))
            ended.wait(0.05)
    return ended.is_set()


def _line_of(frame: FrameType | None) -> str | None:
    while frame is not None:
        if _is_theirs(frame):
            return _describe(frame, frame.f_lineno, frame.f_lasti)
        frame = frame.f_back
    return None


def _is_theirs(frame: FrameType) -> bool:
    return not frame.f_code.co_filename.startswith((*_NOT_THEIRS, _PACKAGE, "<frozen"))


def _describe(frame: FrameType, line: int, instruction: int) -> str:
    text = linecache.getline(frame.f_code.co_filename, line).rstrip()
    if len(text.strip()) > _LONG:
        text = _cut(frame, text, line, instruction)
    return f"line {line}: `{text.strip()}`" if text.strip() else f"line {line} of {frame.f_code.co_name}"


def _cut(frame: FrameType, text: str, line: int, instruction: int) -> str:
    # Cuts a long line to the expression that was running; columns count bytes.
    positions = list(frame.f_code.co_positions())
    first, last, start, end = positions[instruction // 2] if instruction >= 0 else (None,) * 4
    if first != line or start is None or end is None:
        return text
    cut = text.encode()[start : end if last == line else None].decode(errors="ignore")
    return f"... {cut} ..." if cut.strip() else text
