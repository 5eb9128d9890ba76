"""The channel between the two processes: messages over a pair of pipes."""

import time
from concurrent.futures import ThreadPoolExecutor, wait

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
        self._reader = ThreadPoolExecutor(1)

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
        until, read = time.monotonic() + seconds, super().receive
        try:
            reading = self._reader.submit(read)
            # Short waits, so that an exception that another thread sends to this one is raised.
            while not wait([reading], 0.05).done:
                if time.monotonic() >= until:
                    raise TimeoutError(f"no answer within {seconds:.0f} seconds")
        except BaseException:
            self.broken = True
            raise
        try:
            return reading.result()
        except (EOFError, OSError, ValueError, WireError):
            self.broken = True
            raise self._gone() from None
