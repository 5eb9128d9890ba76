"""Files that a crash cannot harm: written whole or not at all."""

import csv
import errno
import io
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

BINARY = getattr(os, "O_BINARY", 0)  # exists only on Windows
# Text that a spreadsheet would run as a formula; the exceptions are numbers and a lone dash.
FORMULA, NO_FORMULA = re.compile(r"[=+\-@\t\r\n]"), re.compile(r"-|[+-]?\d+(\.\d*)?(e[+-]?\d+)?", re.IGNORECASE)
LEFTOVER = re.compile(r"\.(\d+)(\.[0-9a-f]{8})?")  # suffix of a temporary file: the id of the process that writes it


def write_atomically(path: str | Path, content: bytes) -> None:
    """Writes a file so that a reader, or a crash, finds the old content or the new, never a part.

    A file keeps its permissions, a new one has the usual ones. A link is replaced; the file that it leads to stays.

    Raises:
        OSError: where it cannot be written, such as on a full disk or over a folder; any earlier file is intact.
    """
    path = Path(path)
    if not path.name or path.is_dir():
        raise IsADirectoryError(errno.EISDIR, f"{path} is a folder, but the name of a file is needed")
    # A random name, so that others with access to the folder cannot create it beforehand.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        old = _mode(path)
        # O_EXCL refuses a name that exists, and so follows no link.
        number = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o666 if old is None else old)
        with os.fdopen(number, "wb") as file:
            if old is not None:  # os.open has applied the umask
                os.chmod(number if os.chmod in os.supports_fd else temporary, old)  # noqa: PTH101 (the open file)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise OSError(error.errno, _why_not_written(path, len(content), error)) from error
    finally:
        if path.parent.is_dir():
            temporary.unlink(missing_ok=True)


def write_csv(path: str | Path, rows: list[dict]) -> None:
    """Writes rows of equal keys as CSV, numbers to 6 decimals, whole or not at all.

    Raises:
        ValueError: no rows, or a row whose keys differ from those of the first.
        OSError: as `write_atomically`.
    """
    if not rows:
        raise ValueError(f"{path}: there are 0 rows, but at least 1 is needed, because its keys are the columns")
    for number, row in enumerate(rows):
        if row.keys() != rows[0].keys():
            raise ValueError(f"{path}: row {number} has columns {[*row]}, but those of row 0 are needed: {[*rows[0]]}")
    cells = [[round(row[key], 6) if isinstance(row[key], float) else row[key] for key in rows[0]] for row in rows]
    write_cells(path, [list(rows[0]), *cells], "\n")


def write_cells(path: str | Path, rows: Iterable[Iterable], end: str = "\r\n") -> None:
    """Writes rows of cells as CSV, atomically, with an apostrophe before text that a spreadsheet takes for a formula.

    Source: OWASP, "CSV Injection".
    """
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows([_cell(value) for value in row] for row in rows)
    write_atomically(path, text.getvalue().encode())


def write_json(path: str | Path, values: dict) -> None:
    """Writes values as JSON, whole or not at all.

    Raises:
        ValueError: a value that JSON cannot hold, such as NaN or a tensor.
        OSError: as `write_atomically`.
    """
    try:
        text = json.dumps(values, indent=2, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: these values cannot be written as JSON: {error}") from error
    write_atomically(path, (text + "\n").encode())


def remove_leftovers(folder: str | Path, names: Iterable[str]) -> None:
    """Removes the temporary files that killed processes left in a folder while they wrote files of these names.

    Complete files stay, and so do files of other programs and of processes that still run.
    """
    for name in names:
        for temporary in Path(folder).glob(f".{name}.*"):
            writer = LEFTOVER.fullmatch(temporary.name.removeprefix(f".{name}"))
            if writer and temporary.is_file() and not _lives(int(writer[1])):
                # Windows refuses to delete a file that is in use.
                with suppress(PermissionError):
                    temporary.unlink(missing_ok=True)


def _cell(value: object) -> object:
    is_formula = isinstance(value, str) and FORMULA.match(value) and not NO_FORMULA.fullmatch(value)
    return f"'{value}" if is_formula else value


def _mode(path: Path) -> int | None:
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return None
    return found & 0o777 if stat.S_ISREG(found) else None


def _lives(process: int) -> bool:
    try:
        return process != os.getpid() and psutil.pid_exists(process)
    except OverflowError:  # too large for the id of a process
        return False


def _why_not_written(path: Path, size: int, error: OSError) -> str:
    text = f"{path} could not be written ({error.strerror or error})"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        existing = next(parent for parent in (path.parent, *path.parents) if parent.is_dir())
        text += f": {size} bytes are needed, {shutil.disk_usage(existing).free} are free in {existing}"
    return f"{text}; any earlier file is intact"
