"""The channel between the two processes: messages over a pair of pipes."""

import contextlib
import threading
import time

from vit_course.teaching.classroom.apart.serialization import WireError, read_message, write_message


class LearnerEnd:
    """The learner's end of the channel; `receive` waits without a time limit."""

    def __init__(self, incoming, outgoing):
        self._incoming, self._outgoing = incoming, outgoing

    def send(self, tree: dict) -> None:
        """Writes one message."""
        write_message(self._outgoing, tree)

    def receive(self):
        """-> the next message."""
        return read_message(self._incoming)


class GradingEnd(LearnerEnd):
    """The grading process's end: waiting can be interrupted, and the end of the learner's process raises an error.

    Args:
        incoming, outgoing: streams of bytes.
        gone: () -> the error to raise where the other side has ended.
    """

    def __init__(self, incoming, outgoing, gone):
        super().__init__(incoming, outgoing)
        self._gone, self.broken = gone, False

    def send(self, tree: dict) -> None:
        """Writes one message; raises the error of `gone` where the other process no longer reads."""
        if self.broken:
            raise self._gone()
        try:
            super().send(tree)
        except WireError:  # before anything was written
            raise
        except BaseException as error:
            self.broken = True
            if isinstance(error, (OSError, ValueError)):
                raise self._gone() from None
            raise

    def receive(self, seconds: float = float("inf")):
        """-> the next message.

        Raises:
            TimeoutError: no message came in time; the channel is closed, since a late reply would match no request.
        """
        until, found = time.monotonic() + seconds, []

        def read() -> None:
            with contextlib.suppress(EOFError, OSError, ValueError, WireError):
                found.append(super(GradingEnd, self).receive())

        # A daemon: a program that the learner's process leaves behind may hold the pipe open for ever.
        self._reader = threading.Thread(target=read, daemon=True)
        try:
            self._reader.start()
            while self._reader.is_alive():
                if time.monotonic() >= until:
                    raise TimeoutError(f"no answer within {seconds:.0f} seconds")
                self._reader.join(0.05)  # short, so that an exception that another thread sends to this one is raised
        except BaseException:
            self.broken = True
            raise
        if not found:
            self.broken = True
            raise self._gone()
        return found[0]

    def close(self) -> None:
        """Closes both streams after the end of the learner's process, except one that is still being read."""
        self._reader.join(1)
        for stream in (self._outgoing, *(() if self._reader.is_alive() else (self._incoming,))):
            with contextlib.suppress(OSError):
                stream.close()
