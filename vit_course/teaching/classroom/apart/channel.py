"""The channel between the two processes: messages over a pair of pipes."""

import queue
import threading

from vit_course.teaching.classroom.apart.serialization import WireError, read_frame, write_frame


class Stream:
    """The learner's end of the channel; `receive` waits without a time limit."""

    def __init__(self, incoming, outgoing):
        self._incoming, self._outgoing = incoming, outgoing

    def send(self, tree: dict, blobs: list) -> None:
        """Writes one message."""
        write_frame(self._outgoing, tree, blobs)

    def receive(self) -> tuple:
        """-> (tree, blobs) of the next message."""
        return read_frame(self._incoming)


class Watched:
    """The grading process's end: waiting can be interrupted, and the end of the learner's process raises an error.

    Set `closed` when nothing more will be received.

    Args:
        incoming, outgoing: streams of bytes.
        gone: () -> the error to raise where the other side has ended.
    """

    def __init__(self, incoming, outgoing, gone):
        self._outgoing, self._gone = outgoing, gone
        # One message only: a process that floods the channel waits, and fills no memory here.
        self._messages: queue.Queue = queue.Queue(1)
        self.broken = self.closed = False
        threading.Thread(target=self._read, args=(incoming,), daemon=True).start()

    def send(self, tree: dict, blobs: list) -> None:
        """Writes one message; raises the error of `gone` where the other process no longer reads."""
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
            TimeoutError: no message came in time; the channel is closed, since a late reply would match no request.
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
            while self._put(read_frame(incoming)):
                pass
        except (EOFError, OSError, ValueError, WireError):
            self._put(None)

    def _put(self, message) -> bool:
        # False where nobody will fetch it any more.
        while not self.closed:
            try:
                self._messages.put(message, timeout=0.5)
                return True
            except queue.Full:
                pass
        return False
