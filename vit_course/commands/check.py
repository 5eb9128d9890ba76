"""`python -m vit_course check`: reports whether everything the course needs is installed, and what to do if not."""

import importlib
import os
import platform
import re
import shutil
import sys
import warnings
from importlib import metadata
from pathlib import Path

from vit_course._support.files.course_files import ROOTS, is_checkout
from vit_course._support.inputs.extras import EXTRAS, install_line

DISTRIBUTION = "vit-course"
# From the name on PyPI to the name of the import, where the two differ in more than hyphens.
IMPORTED_AS = {
    "pillow": "PIL",
    "scikit-learn": "sklearn",
    "markdown-it-py": "markdown_it",
    "sphinx-mathjax-offline": "sphinx-mathjax-offline",  # importlib takes the folder's name, hyphens included
}


def add_to(commands) -> None:
    """Adds this command to the subparsers of the command line."""
    check = commands.add_parser(
        "check",
        help="say whether everything the course needs is installed",
        description="Imports every package that the course needs. The last line is for your teacher.",
    )
    check.add_argument("extras", nargs="*", metavar="EXTRA", help=f"also of these: {', '.join(EXTRAS)}")
    check.set_defaults(run=run)


def run(options) -> int:
    """Prints a line for each package and one for the teacher; returns 0 if nothing is missing, 1 otherwise."""
    unknown = [name for name in options.extras if name not in EXTRAS]
    if unknown:
        raise ValueError(f"there is no extra {unknown[0]!r}, only {', '.join(EXTRAS)}")
    text, complete = report(*options.extras)
    print(text)
    print(for_the_teacher(complete))
    return 0 if complete else 1


def report(*extras: str) -> tuple[str, bool]:
    """Imports each package that the chapters need and compares its version.

    Args:
        extras: extras of the course whose packages are checked too, such as "classroom".

    Returns:
        the report, with a line for each package, and whether everything is in order.
    """
    try:
        found = {name: _problem(requirement) for name, requirement in requirements(*extras).items()}
    except (metadata.PackageNotFoundError, ModuleNotFoundError):
        return _not_installed(), False
    found["python"] = _problem_of_python()
    lines = [f"{name:<18}{problem or 'ok'}" for name, problem in found.items()]
    complete = not any(found.values())
    if complete:
        lines.append("Everything is here. You need no network and no GPU from now on.")
    else:
        where = " in the folder of the course" if is_checkout() else ""
        line = install_line(*dict.fromkeys(("course", *extras)))
        lines.append(f"To fix it, run{where}: {line}   Then restart the kernel.")
    return "\n".join(lines), complete


def requirements(*extras: str) -> dict:
    """Returns the requirements of the chapters and of these extras by package name, in alphabetical order.

    Raises:
        importlib.metadata.PackageNotFoundError: the course is not installed in this Python.
        ModuleNotFoundError: `packaging`, which the course depends on, is not installed.
    """
    texts = metadata.requires(DISTRIBUTION) or []
    from packaging.requirements import Requirement

    found, wanted, done = {}, ["", "course", *extras], set()
    while wanted:
        name = wanted.pop()
        done.add(name)
        for requirement in map(Requirement, texts):
            if not _belongs(requirement.marker, name):
                continue
            if requirement.name == DISTRIBUTION:  # an extra within an extra
                wanted += requirement.extras - done
            else:
                found[requirement.name] = requirement
    return dict(sorted(found.items()))


def for_the_teacher(complete: bool) -> str:
    """Returns a line to send to the teacher: versions, system, memory, disk space, and whether all is installed."""
    try:
        version = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        version = "not installed"
    parts = [
        f"vit-course {version}",
        f"Python {platform.python_version()}",
        f"{platform.system()} {platform.release()} {platform.machine()}",
        f"{os.cpu_count()} processors",
        *_memory(),
        f"{shutil.disk_usage(Path.cwd()).free / 1e9:.0f} GB of disk free",
        "everything is here" if complete else "NOT COMPLETE",
    ]
    return f"For your teacher: {', '.join(parts)}"


def _belongs(marker, extra: str) -> bool:
    # Whether a requirement belongs to this extra or, for "", to the core.
    of_extra = marker is not None and "extra" in str(marker)
    return of_extra == bool(extra) and (marker is None or marker.evaluate({"extra": extra}))


def _memory() -> list[str]:
    try:
        import psutil
    except ImportError:
        return []
    return [f"{psutil.virtual_memory().total / 1e9:.0f} GB of memory"]


def _not_installed() -> str:
    lines = [f"The course is not installed in this Python, {sys.executable}."]
    folder = ROOTS[0] / ".venv"
    if is_checkout() and folder.is_dir() and Path(sys.prefix).resolve() != folder.resolve():
        lines += [
            f"There is an environment in {folder}. Activate it, and try again:",
            f"  macOS, Linux        source {_quoted(folder / 'bin' / 'activate')}",
            f"  Windows PowerShell  & {_quoted(folder / 'Scripts' / 'Activate.ps1')}",
            f"  Windows cmd         {_quoted(folder / 'Scripts' / 'activate.bat')}",
            f"With conda: conda activate {DISTRIBUTION}",
        ]
    else:
        where = " in the folder of the course" if is_checkout() else ""
        lines += [
            "If you have installed it elsewhere, activate that environment, and try again.",
            f"The README's line makes one in the folder .venv of the course; with conda: conda activate {DISTRIBUTION}",
            f"If not, run{where}: {install_line('course')}",
        ]
    return "\n".join(lines)


def _quoted(path: Path) -> str:
    text = str(path)
    return text if re.fullmatch(r"[\w./\\:-]+", text, re.ASCII) else f'"{text}"'


def _problem_of_python() -> str | None:
    from packaging.specifiers import SpecifierSet

    found, wanted = platform.python_version(), metadata.metadata(DISTRIBUTION)["Requires-Python"]
    if SpecifierSet(wanted).contains(found, prereleases=True):
        return None
    return f"{found} found, but {wanted} is needed: install another Python"


def _problem(requirement) -> str | None:
    try:
        found = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return "not installed"
    if not requirement.specifier.contains(found, prereleases=True):
        return f"{found} found, but {requirement.specifier} is needed"
    try:
        with warnings.catch_warnings(action="ignore"):
            importlib.import_module(IMPORTED_AS.get(requirement.name, requirement.name.replace("-", "_")))
    except Exception as error:
        # A broken binary package fails in many ways; the learner needs its name and the reason, not a traceback.
        return f"cannot be imported: {type(error).__name__}: {error}"
    return None
