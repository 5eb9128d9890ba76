"""How far the learner is: the best score of each exercise, in one small file of the learner's own."""

import json
import os
import re
from pathlib import Path

from filelock import FileLock, Timeout

from vit_course._support.files.atomic import remove_leftovers, write_atomically
from vit_course._support.files.json_files import need_object, read_json
from vit_course._support.inputs.rules import harmless, real

SECONDS = 5  # to wait for another program that writes
VARIABLE = "VIT_COURSE_PROGRESS"
NAME = re.compile(r"\w+\.\w+")  # of an exercise, such as "attention.weights"


def path() -> Path | None:
    """Where the scores are kept: the file that VIT_COURSE_PROGRESS names, or one in the home folder.

    None where the variable is "off", and while nbgrader grades, since those scores are not the user's own.
    """
    named = os.environ.get(VARIABLE)
    if named == "off" or os.environ.get("NBGRADER_EXECUTION"):
        return None
    return Path(named) if named else Path.home() / ".vit_course" / "progress.json"


def read() -> tuple[dict[str, float], str]:
    """-> (best score by exercise, a message where they cannot be read or else "")."""
    try:
        return _best(path()), ""
    except Exception as error:  # no home folder, a damaged file: progress never ends what the learner asked for
        return {}, f"Your earlier progress cannot be read: {_reason(error)}."


def record(exercise: str, score: float) -> str:
    """Keeps `score` where it is the best so far; returns a message where something went wrong, or else ""."""
    try:
        file = path()
        best = _best(file)
        if file is None or best.get(exercise, -1.0) >= score:
            return ""
        file.parent.mkdir(parents=True, exist_ok=True)
        # Two notebooks, or two kernels of one learner, may check at once.
        with FileLock(file.with_name(f".{file.stem}.lock"), timeout=SECONDS):
            remove_leftovers(file.parent, [file.name])
            best = _best(file)
            best[exercise] = max(score, best.get(exercise, score))
            if file.exists() and not file.stat().st_mode & 0o222:
                raise ValueError(f"{file} is read-only")
            write_atomically(file, json.dumps({"best": dict(sorted(best.items()))}, indent=1).encode())
        return ""
    except Timeout:
        return f"Your progress was not saved: another program has held {harmless(str(file))} for {SECONDS} seconds."
    except Exception as error:
        return f"Your progress was not saved: {_reason(error)}."


def _best(file: Path | None) -> dict[str, float]:
    # Raises a `ValueError` where the file is not one that `record` writes; such a file is never changed or moved.
    if file is None or not os.path.lexists(file):
        return {}
    try:
        content = read_json(file)
        best = need_object("best", content.pop("best", None))
        for name, score in best.items():
            real(0, 1)(name, score)  # a bool, a text and NaN are no scores
        if content or not all(map(NAME.fullmatch, best)):
            raise ValueError("it has entries of another program")
    except ValueError as error:
        raise ValueError(f"{file} is damaged or not a progress file: rename it or delete it") from error
    return best


def _reason(error: Exception) -> str:
    return harmless(" ".join(str(error).split()).rstrip(".") or type(error).__name__)
