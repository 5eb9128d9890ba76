"""Loaded by Python at the start of each kernel that nbgrader grades with: honest accidents stay in their folder.

It refuses to write, delete or rename outside the submission's folder and the temporary folder (but never in the
course), to start programs and to end the kernel. This is no prison: code that wants out gets out. A class that is
not trusted is graded in a container, or as a user of its own.
"""

import os
import sys
import tempfile

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Events of Python's audit hooks (PEP 578), with the places of the paths that they change.
CHANGES = {
    "os.remove": (0,), "os.rename": (0, 1), "os.rmdir": (0,), "os.mkdir": (0,), "os.truncate": (0,),
    "os.link": (1,), "os.symlink": (1,), "os.chmod": (0,), "os.chown": (0,), "shutil.rmtree": (0,),
    "sqlite3.connect": (0,),
}  # fmt: skip
ENDS = {"os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "subprocess.Popen", "os.kill"}


def guard() -> None:
    """Sets the hooks; they stay until the process ends."""
    own, temporary = os.path.realpath(os.curdir), os.path.realpath(tempfile.gettempdir())
    course = os.path.realpath(os.environ.get("VIT_COURSE_CLASSROOM", own))

    def inside(path: str, folder: str) -> bool:
        return path == folder or path.startswith(folder + os.sep)

    def refuse(path) -> None:
        if not isinstance(path, (str, bytes)) or path in (":memory:", os.devnull):
            return
        real = os.path.realpath(os.fsdecode(path))
        if not inside(real, own) and (not inside(real, temporary) or inside(real, course)):
            raise PermissionError(f"while grading, nothing is written outside the submission's folder: {path!r}")

    def hook(event, arguments) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & WRITING:
                refuse(path)
        elif event in CHANGES:
            for place in CHANGES[event]:
                refuse(arguments[place])
        elif event in ENDS:
            raise PermissionError(f"while grading, no program is started or ended: {event}")

    def no_exit(*_) -> None:
        raise PermissionError("while grading, the kernel is not ended: os._exit")

    os._exit = os.abort = no_exit
    sys.addaudithook(hook)


if os.environ.get("NBGRADER_EXECUTION") == "autograde":
    guard()
