"""A control group: processes that the kernel counts, by cgroups(7), where this user may make one.

The limit of setrlimit(2) counts the processes of every user except root, and by default only root may make a group.
"""

import contextlib
import time
from pathlib import Path

PLACES = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")  # of version 1 and 2


def new_group(name: str, most: int) -> Path | None:
    """Makes a group of at most so many processes and threads; returns its folder, or None where that is not possible.

    Whatever writes its process id to the file `cgroup.procs` in the folder belongs to the group, with all that it
    starts.
    """
    for place in PLACES:
        folder = Path(place, name)
        with contextlib.suppress(OSError):
            folder.mkdir()
            if (folder / "pids.max").is_file():
                (folder / "pids.max").write_text(str(most))
                return folder
        with contextlib.suppress(OSError):
            folder.rmdir()
    return None


def remove_group(name: str) -> None:
    """Removes a group whose processes have ended, or are about to."""
    for place in PLACES:
        folder, end = Path(place, name), time.monotonic() + 5
        while folder.is_dir() and time.monotonic() < end:
            try:
                folder.rmdir()
            except OSError:  # the last process is not quite gone
                time.sleep(0.05)
