"""What a process gives up for good before it runs a learner's code. Linux has the means; elsewhere less is done.

Landlock (landlock(7), Linux 5.13) takes away the sight of files, seccomp(2) the making of network sockets, and
setrlimit(2) bounds memory, processes, time and the size of files. None of them needs any right, and none can be undone.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

READ, EVERYTHING = 0b1101, 2**15 - 1  # execute, read a file, list a folder; and all that Landlock's third version knows
KNOWN_RIGHTS = {1: 2**13 - 1, 2: 2**14 - 1}
OF_A_FILE = 0b111 | 2**14  # execute, write, read, truncate
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/proc", "/sys", "/opt/conda", "/nix")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm")
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
NO_NEW_PRIVILEGES, SET_SECCOMP, FILTER, SUBREAPER = 38, 22, 2, 36
# machine: (its number for audit, the numbers of socket and io_uring_setup)
CALLS = {"x86_64": (0xC000003E, 41, 425), "aarch64": (0xC00000B7, 198, 425)}
UNIX_SOCKETS = 1


def confine(readable: Iterable[str], writable: Iterable[str], limits: dict) -> list[str]:
    """Gives up what this system lets a process give up.

    Args:
        readable, writable: folders that stay in sight, beside the system's own.
        limits: "memory" in bytes for each process beyond what it has now, "processes", "seconds" of a processor,
            "file" in bytes.

    Returns:
        What was done, of "files", "network", "limits".
    """
    done = []
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(SUBREAPER, 1, 0, 0, 0)  # what it starts stays its own, so that all can be ended
        libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        libc.capset(struct.pack("Ii", 0x20080522, 0), bytes(24))  # root, too, is a user like any other
        if _hide_files(libc, readable, writable):
            done.append("files")
        if _no_network(libc):
            done.append("network")
    if _limit(limits):
        done.append("limits")
    return done


def _hide_files(libc, readable, writable) -> bool:
    version = libc.syscall(CREATE_RULESET, None, 0, 1)
    if version < 1:
        return False
    rights = KNOWN_RIGHTS.get(version, EVERYTHING)
    # From version 6 on: no signals to processes outside, and no sockets of theirs that have no file.
    attributes = struct.pack("QQQ", rights, 0, 3)[: 24 if version >= 6 else 8]
    rules = libc.syscall(CREATE_RULESET, attributes, len(attributes), 0)
    if rules < 0:
        return False
    for path, allowed in [
        *((p, READ) for p in (*SYSTEM, *readable)),
        *((p, EVERYTHING) for p in (*DEVICES, *writable)),
    ]:
        if Path(path).exists():
            allowed &= rights if Path(path).is_dir() else rights & OF_A_FILE
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            libc.syscall(ADD_RULE, rules, 1, struct.pack("=Qi", allowed, place), 0)
            os.close(place)
    done = libc.syscall(RESTRICT_SELF, rules, 0) == 0
    os.close(rules)
    return done


def _no_network(libc) -> bool:
    known = CALLS.get(platform.machine())
    if known is None:
        return False
    audit, socket, io_uring = known
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    refuse, allow = 0x00050000 | 1, 0x7FFF0000  # an error EPERM
    # Of another machine's calls (32 bits) and of io_uring, which makes sockets too, nothing is let through.
    program = [
        (load, 0, 0, 4), (equal, 0, 7, audit),
        (load, 0, 0, 0), (at_least, 5, 0, 0x40000000), (equal, 4, 0, io_uring), (equal, 0, 2, socket),
        (load, 0, 0, 16), (equal, 0, 1, UNIX_SOCKETS),
        (give, 0, 0, allow), (give, 0, 0, refuse),
    ]  # fmt: skip
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in program))
    pointer = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    return libc.prctl(SET_SECCOMP, FILTER, pointer, 0, 0) == 0


def _limit(limits: dict) -> bool:
    try:
        import resource
    except ImportError:  # Windows
        return False
    now = 0
    if sys.platform == "linux":
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    # PyTorch alone maps gigabytes that it never touches: the limit is what comes on top.
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
    return True
