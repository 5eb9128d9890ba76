"""Maintains the learner's folder: keeps the learner's notebooks, adds missing ones, puts newer versions beside them."""

import base64
import hashlib
import json
import os
import zlib
from pathlib import Path

from vit_course._support.files.atomic import write_atomically
from vit_course._support.files.course_files import course
from vit_course._support.files.json_files import MOST_JSON, check_readable, json_object
from vit_course.teaching.learner.chapters import FILES, chapters, differences, prepare

# Records the version of each chapter that was copied, to notice a newer one and to say what has changed in it.
RECORD = ".course.json"


def open_folder(folder: Path) -> list[str]:
    """Puts the chapters into a learner's folder; nothing that is there is overwritten.

    Args:
        folder: made where it is missing.

    Returns:
        sentences for the learner: what was put there, and where a newer chapter lies.

    Raises:
        ValueError: `folder` is a file, or cannot be written to; the record in it is no ordinary file, or far too long.
    """
    made = not folder.exists()
    record = _read(folder)
    said, new = [], 0
    for number, chapter in chapters().items():
        content, linked = prepare(chapter)
        _put_files(folder, linked, record)
        place, known = folder / chapter.name, _version(record.get(chapter.name))
        if not place.exists():
            _write(place, content)
            new += 1
        elif known is not None and known != content:  # without a record it may be any version
            change = differences(known, content)
            beside = _beside(place, content)
            said.append(
                f"There is a newer chapter {number}: {beside.name}, next to yours ({change}). "
                f"Yours, {place.name}, is as you left it."
            )
        packed = base64.b64encode(zlib.compress(content, 9)).decode()
        record[chapter.name] = {"hash": _hash(content), "chapter": packed}
    _write(folder / RECORD, json.dumps(record, indent=1).encode())
    if made:
        said.insert(0, f"Your copy of the course: {_as_typed(folder)}, {new} chapters. What you change is kept.")
    elif new:
        said.insert(0, f"{_as_typed(folder)}: chapters added: {new}.")
    return said


def fresh(folder: Path, number: str) -> str:
    """Puts an untouched copy of one chapter in its place and keeps the learner's under another name.

    Args:
        number: of the chapter, "03" or "3".

    Returns:
        a sentence for the learner.

    Raises:
        ValueError: no such chapter, or a folder that cannot be written to.
    """
    known = chapters()
    if not number.isdigit() or number.zfill(2) not in known:
        raise ValueError(f"--fresh takes the number of a chapter, {' '.join(known)}, got {number!r}")
    chapter = known[number.zfill(2)]
    place, said = folder / chapter.name, f"{chapter.name} is a fresh copy"
    if place.exists():
        kept = _free(place, "mine")
        place.rename(kept)
        said += f"; yours is kept as {kept.name}"
    open_folder(folder)  # puts there what is missing
    return said


def _as_typed(path: Path) -> str:
    """A path as one would type it from here."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _read(folder: Path) -> dict:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: the copy of the course needs a folder")
    place = folder / RECORD
    if not place.exists():
        return {}
    check_readable(place)
    try:
        record = json_object(place.read_bytes(), str(place))
    except ValueError:  # damaged: treated like a folder without a record
        return {}
    return {name: entry for name, entry in record.items() if isinstance(entry, dict) and "hash" in entry}


def _version(entry: dict | None) -> bytes | None:
    """The chapter in an entry of the record; None where the entry is damaged, or there is none."""
    try:
        packed = zlib.decompressobj().decompress(base64.b64decode(entry["chapter"], validate=True), MOST_JSON)
        cells = json_object(packed, "the chapter")["cells"]
        whole = _hash(packed) == entry["hash"] and all(isinstance("".join(cell["source"]), str) for cell in cells)
    except (ValueError, TypeError, KeyError, zlib.error):
        return None
    return packed if whole else None


def _put_files(folder: Path, linked: set[str], record: dict) -> None:
    """Updates the diagrams and pages that the chapters link to, except those that the learner has changed."""
    for name in sorted(linked):
        source, place = course() / name, folder / FILES / name
        if not source.is_file():
            continue
        content, known = source.read_bytes(), record.get(f"{FILES}/{name}", {}).get("hash")
        there = place.read_bytes() if place.is_file() else None
        if not place.exists() or there == content or known == _hash(there or b""):
            if there != content:
                _write(place, content)
            record[f"{FILES}/{name}"] = {"hash": _hash(content)}


def _write(place: Path, content: bytes) -> None:
    try:
        write_atomically(place, content)
    except OSError as error:
        raise ValueError(
            f"the copy of the course cannot be written to {place.parent} ({error.strerror}): "
            "name another folder with --folder"
        ) from error


def _beside(place: Path, content: bytes) -> Path:
    """The path of a newer chapter beside the learner's copy; written there, unless an earlier start has done it."""
    for there in sorted(place.parent.glob(f"{place.stem}-new*{place.suffix}")):
        if there.is_file() and there.stat().st_size == len(content) and there.read_bytes() == content:
            return there
    beside = _free(place, "new")
    _write(beside, content)
    return beside


def _free(place: Path, word: str) -> Path:
    """A name beside `place` that is not taken: 03_x-new.ipynb, 03_x-new-2.ipynb, ..."""
    names = (f"{place.stem}-{word}{count}{place.suffix}" for count in ("", *(f"-{i}" for i in range(2, 10**6))))
    return next(path for name in names if not (path := place.with_name(name)).exists())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
