"""Limits the resources of the running process, and of all that it starts, by setrlimit(2)."""

import sys
from pathlib import Path


def limit(limits: dict[str, int]) -> None:
    """Sets the limits, where the system has setrlimit(2).

    Args:
        limits: "memory" in bytes on top of present use, "processes", "seconds" of processor time, "file" size in bytes.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    now = 0
    if sys.platform == "linux":
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    # PyTorch maps gigabytes of address space that it never touches, so the limit is added to the present use.
    wanted = {
        "RLIMIT_AS": now + limits["memory"] if now else None,
        "RLIMIT_NPROC": limits["processes"],
        "RLIMIT_CPU": limits["seconds"],
        "RLIMIT_FSIZE": limits["file"],
        "RLIMIT_CORE": 0,
    }
    for name, value in wanted.items():
        kind = getattr(resource, name, None)
        if kind is not None and value is not None:
            _, hard = resource.getrlimit(kind)
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(kind, (value, value))
