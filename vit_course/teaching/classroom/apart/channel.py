"""The way between the two processes: messages over a pair of pipes."""

import queue
import threading

from vit_course.teaching.classroom.apart.serialization import WireError, read_frame, write_frame


class Stream:
    """The learner's end: waits as long as it takes."""

    def __init__(self, incoming, outgoing):
        self._incoming, self._outgoing = incoming, outgoing

    def send(self, tree: dict, blobs: list) -> None:
        """Writes one message."""
        write_frame(self._outgoing, tree, blobs)

    def receive(self) -> tuple:
        """-> (tree, blobs) of the next message."""
        return read_frame(self._incoming)


class Watched:
    """The other end: waiting can be broken off, and a side that is gone is said to be.

    Args:
        incoming, outgoing: streams of bytes.
        gone: () -> the error to raise where the other side has ended.
    """

    def __init__(self, incoming, outgoing, gone):
        self._outgoing, self._gone = outgoing, gone
        self._messages: queue.Queue = queue.Queue()
        self.broken = False
        threading.Thread(target=self._read, args=(incoming,), daemon=True).start()

    def send(self, tree: dict, blobs: list) -> None:
        """Writes one message; raises what `gone` gives where nobody reads."""
        if self.broken:
            raise self._gone()
        try:
            write_frame(self._outgoing, tree, blobs)
        except (OSError, ValueError):
            self.broken = True
            raise self._gone() from None

    def receive(self, seconds: float = float("inf")) -> tuple:
        """-> (tree, blobs) of the next message.

        Raises:
            TimeoutError: none came in time; what comes later belongs to nobody, so the way is closed.
        """
        waited = 0.0
        try:
            while True:
                try:
                    # Short waits, so that an exception that another thread sends to this one is raised.
                    message = self._messages.get(timeout=0.05)
                    break
                except queue.Empty:
                    waited += 0.05
                    if waited >= seconds:
                        raise TimeoutError(f"no answer within {seconds:.0f} seconds") from None
        except BaseException:
            self.broken = True
            raise
        if message is None:
            self.broken = True
            raise self._gone()
        return message

    def _read(self, incoming) -> None:
        try:
            while True:
                self._messages.put(read_frame(incoming))
        except (EOFError, OSError, ValueError, WireError):
            self._messages.put(None)
