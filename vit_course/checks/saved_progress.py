"""How far the learner is: the best score of each exercise, in one small file of the learner's own."""

import json
import os
import sys
from itertools import chain, count
from pathlib import Path

from filelock import FileLock, Timeout

from vit_course._support.files.atomic import remove_leftovers, write_atomically
from vit_course._support.files.json_files import need_object, read_json
from vit_course._support.inputs.rules import real

SECONDS = 5  # to wait for another program that writes
VARIABLE = "VIT_COURSE_PROGRESS"


def path() -> Path | None:
    """Where the scores are kept: the file that VIT_COURSE_PROGRESS names, or one in the home folder.

    None where the variable is "off", and while nbgrader grades, since those scores are not the user's own.
    """
    named = os.environ.get(VARIABLE)
    if named == "off" or os.environ.get("NBGRADER_EXECUTION"):
        return None
    return Path(named) if named else Path.home() / ".vit_course" / "progress.json"


def read() -> tuple[dict[str, float], str]:
    """-> (best score by exercise, a message where the file is damaged or else "")."""
    file = path()
    if file is None:
        return {}, ""
    try:
        return _best(file), ""
    except (OSError, ValueError):
        return {}, f"The progress file {file} cannot be read and is ignored; the next check will start a new one."


def record(exercise: str, score: float) -> str:
    """Keeps `score` where it is the best so far; returns a message where something went wrong, or else ""."""
    file = path()
    if file is None:
        return ""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # Two notebooks, or two kernels of one learner, may check at once.
        with FileLock(file.with_name(f".{file.stem}.lock"), timeout=SECONDS):
            remove_leftovers(file.parent, [file.name])
            return _recorded(file, exercise, score)
    except Timeout:
        return f"Your progress could not be saved: another program has held {file} for {SECONDS} seconds."
    except OSError as error:
        return f"Your progress could not be saved in {file}: {error.strerror or error}."


def _best(file: Path) -> dict[str, float]:
    # Raises `ValueError` where the file is damaged; a pipe and deeply nested JSON count as damaged too.
    if not os.path.lexists(file):
        return {}
    best = need_object("best", read_json(file).get("best"))
    for name, score in best.items():  # a bool, a text and NaN are no scores
        real(-sys.float_info.max, sys.float_info.max)(name, score)
    return {name: min(max(float(score), 0.0), 1.0) for name, score in best.items()}


def _recorded(file: Path, exercise: str, score: float) -> str:
    best, damaged = read()
    if best.get(exercise, -1.0) >= score and not damaged:
        return ""
    if os.path.lexists(file) and not file.lstat().st_mode & 0o222:
        return f"Your progress was not saved: {file} is read-only."
    message = ""
    if damaged:  # kept under another name, so that it can be repaired
        aside = _free(file.with_suffix(".damaged"))
        file.replace(aside)
        message = f"The progress file was damaged and has been moved to {aside}."
    best[exercise] = score
    write_atomically(file, json.dumps({"best": dict(sorted(best.items()))}, indent=1).encode())
    return message


def _free(wanted: Path) -> Path:
    numbered = (wanted.with_name(f"{wanted.name}-{number}") for number in count(2))
    return next(place for place in chain([wanted], numbered) if not os.path.lexists(place))
