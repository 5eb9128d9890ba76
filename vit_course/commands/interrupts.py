"""Ctrl+C: one line and the exit code 130 at any moment, also while PyTorch is imported. Nothing else is imported here.

A `KeyboardInterrupt` out of an import is swallowed there, or comes out as another error, or leaves half a module. So
while anything is imported the process ends at once, which harms no file: all are written whole or not at all. At any
other moment it is a `KeyboardInterrupt`, which cleans up on its way; where that gets lost, the process ends.
"""

import os
import signal
import sys

CODE = 130
_process = None
_pressed = False


def watch() -> None:
    """From here on; not where the system has told the process to ignore Ctrl+C, as of one in the background."""
    global _process
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    _process = os.getpid()
    signal.signal(signal.SIGINT, _press)
    usual = sys.unraisablehook
    # Out of a destructor or a callback no error comes up.
    sys.unraisablehook = lambda lost: _stop() if lost.exc_type is KeyboardInterrupt and _is_ours() else usual(lost)


def was_pressed() -> bool:
    """Whether Ctrl+C was pressed, whatever became of it since."""
    return _pressed


def finish() -> None:
    """The command is done: what Python still clears away is no place for a `KeyboardInterrupt`."""
    if _is_ours():
        signal.signal(signal.SIGINT, _stop)


def _press(_, frame) -> None:
    global _pressed
    if _is_ours() and (_pressed or _is_importing(frame)):
        _stop()
    _pressed = True
    raise KeyboardInterrupt


def _is_ours() -> bool:
    # A worker that was forked with this is ended by its parent.
    return _process == os.getpid()


def _is_importing(frame) -> bool:
    while frame and frame.f_globals.get("__name__") not in ("importlib._bootstrap", "_frozen_importlib"):
        frame = frame.f_back
    return frame is not None


def _stop(*_) -> None:
    os.write(2, b"\nstopped\n")
    os._exit(CODE)
