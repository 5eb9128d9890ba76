"""What a sandboxed process is given: environment variables, the system's folders, Python and its libraries."""

import os
import sys
from pathlib import Path

from vit_course._support.files.course_files import PACKAGE, course

# What Python has in its own folder; a virtual environment may share that folder with anything else.
OF_PYTHON = ("bin", "lib", "lib64", "libexec", "share", "pyvenv.cfg")
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64")
ETC_FILES = (
    "/etc/ld.so.cache", "/etc/alternatives", "/etc/fonts", "/etc/localtime", "/etc/passwd", "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)  # fmt: skip
# What the programs podman and docker need to find their server and settings.
OF_CLIENTS = (
    "PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST",
    "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "CONTAINER_HOST",
)  # fmt: skip
# podman and docker pass these to a container by themselves, and the addresses may contain passwords.
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy")


def environment(inside: str) -> dict[str, str]:
    """The environment variables of a sandboxed process that may write to the folder `inside`."""
    kept = {name: os.environ[name] for name in ("LANG", "OMP_NUM_THREADS", "SYSTEMROOT") if name in os.environ}
    return kept | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": f"{inside}/home",
        "TMPDIR": f"{inside}/tmp",
        "USER": "learner",
        "MPLCONFIGDIR": f"{inside}/home/matplotlib",
        "IPYTHONDIR": f"{inside}/home/ipython",
        "NBGRADER_EXECUTION": "autograde",  # nbgrader's own; nothing is entered into a learner's progress then
    }


def clients_environment() -> dict[str, str]:
    """The environment variables of the program podman or docker itself, which runs outside the sandbox."""
    return {name: os.environ[name] for name in OF_CLIENTS if name in os.environ}


def import_paths(hidden: tuple[Path, ...] = ()) -> list[str]:
    """What a sandboxed process has as `sys.path`: the folder of the course's package, then the libraries."""
    return [str(PACKAGE.parent), *libraries(hidden)]


def libraries(hidden: tuple[Path, ...] = ()) -> list[str]:
    """The folders of `sys.path` that a sandboxed process may import from.

    Without the current folder, the hidden folders, and those inside or around them; and without a folder that holds
    the home folder, such as a PYTHONPATH may name.
    """
    found = [Path(path).resolve() for path in sys.path if path and Path(path).is_dir()]
    found = [path for path in found if not Path.home().resolve().is_relative_to(path)]
    for secret in (Path(path).resolve() for path in (*hidden, os.curdir)):
        found = [path for path in found if not path.is_relative_to(secret) and not secret.is_relative_to(path)]
    return [str(path) for path in found]


def readable_folders(hidden: tuple[Path, ...] = ()) -> list[str]:
    """What a sandboxed process reads: Python, its libraries, the package and the files of the course."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).resolve().parents[1])}
    of_python = {str(path) for prefix in prefixes for name in OF_PYTHON if (path := Path(prefix, name)).exists()}
    # Checks of experiments run code of the chapters, whose solutions are public.
    ours = {str(PACKAGE), str(course() / "res"), str(course() / "notebooks")}
    others = {*libraries(hidden)} - {str(PACKAGE.parent)}
    return sorted(str(Path(path).resolve()) for path in of_python | ours | others)


def to_cover(hidden: tuple[Path, ...]) -> list[str]:
    """The hidden folders that lie inside a visible folder, and so must be to_cover."""
    seen = (*SYSTEM, *readable_folders(hidden))
    return [str(path) for path in hidden if any(Path(path).is_relative_to(folder) for folder in seen)]
