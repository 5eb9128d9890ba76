"""One training at a time in a run folder."""

import os
import platform
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

NAME = ".lock"


class Lock:
    """The system's lock on a file of the run folder: it ends with the process that has it, however that ends.

    Args:
        folder: the run folder; made by `take` if missing.
    """

    def __init__(self, folder: Path):
        self.path = folder / NAME
        self._lock = FileLock(self.path, blocking=False)
        self._made = False

    def take(self) -> None:
        """Takes the lock, and writes into its file whose it is.

        Raises:
            ValueError: another process has it, or another run of this one.
            OSError: a folder that cannot be written.
        """
        self._made = not self.path.parent.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            raise ValueError(
                f"{self._owner()} trains into {self.path.parent} at this moment: wait for its end, or name another "
                "folder"
            ) from None
        with suppress(PermissionError):  # Windows lets nobody write into a file that is locked
            self.path.write_text(f"process {os.getpid()} on host {platform.node()}", encoding="utf-8")

    def release(self) -> None:
        """Gives the lock back, and with it a folder that was made for it alone and is still empty."""
        self._lock.release()
        self.path.unlink(missing_ok=True)
        if self._made and not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()

    def _owner(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8") or "another process"
        except OSError:
            return "another process"
