"""The teacher's folder as a whole: what it holds, and how it is written."""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from vit_course.files.atomic import write_json
from vit_course.files.stored import stored
from vit_course.kit.decks import write_decks
from vit_course.kit.exercises import PaperExercise, paper_exercises
from vit_course.kit.install import install, write_html, write_install
from vit_course.kit.schedule import write_schedule
from vit_course.kit.sheets import write_keys, write_sheets

MARK = "kit.json"  # by which a folder is known as one of these; it says what each file was when it was written
INDEX = "index.html"


def write_kit(out: Path, address: str | None = None) -> int:
    """Writes the kit into a folder, or renews the one that is there.

    Args:
        out: the folder.
        address: where learners get the course; None for that of the kit that is renewed, if it had one.

    Returns:
        the number of files.

    Raises:
        ValueError: the folder holds something else, or a file of the kit that was changed since; an address that no
            shell would hand on; a source names what is not there.
        OSError: it cannot be written.
    """
    old = need_room(out)
    address = old["address"] if address is None else address
    install(address)  # says what is wrong with the address before anything is made
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        exercises = paper_exercises()
        write_sheets(made / "sheets", exercises)
        write_keys(made / "answers", exercises)
        write_decks(made / "slides")
        write_install(made, address)
        write_schedule(made / "schedule.pdf")
        write_html(made / INDEX, index(exercises))
        files = {path.relative_to(made).as_posix(): path for path in sorted(made.rglob("*")) if path.is_file()}
        _replace(out, old["files"], files, address)
    return len(files)


def index(exercises: list[PaperExercise]) -> str:
    """The page that says what each file is, as Markdown."""
    text = stored("kit/index.md").read_text(encoding="utf-8")
    lines = [
        f"| [{one.number} {one.title}](sheets/{one.file}.pdf) | {one.minutes} min | [key](answers/{one.file}-key.pdf) |"
        for one in exercises
    ]
    return text.replace("{{sheets}}", "\n".join(lines))


def need_room(out: Path) -> dict:
    """Makes sure that the kit can be written without harm to anything; -> what the last one noted of itself.

    Raises:
        ValueError: the folder holds something that is no kit, or a file that was changed since the kit wrote it.
    """
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return {"address": None, "files": {}}
    if not out.is_dir():
        raise ValueError(f"{out} is a file: name a folder")
    if not (out / MARK).is_file():
        raise ValueError(f"{out} holds something that is no kit: name another folder")
    try:
        noted = json.loads((out / MARK).read_text(encoding="utf-8"))
        noted = {"address": noted.get("address"), "files": dict(noted["files"])}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{out / MARK} is not what the kit wrote: name another folder") from error
    for name, digest in noted["files"].items():
        file = out / name
        # It is removed when the kit is renewed, so nothing outside may be among them.
        if not file.resolve().is_relative_to(out.resolve()):
            raise ValueError(f"{out / MARK} names a file outside of {out}: name another folder")
        if file.is_file() and _digest(file) != digest:
            raise ValueError(f"{file} was changed since the kit wrote it: name another folder, or rename that file")
    return noted


def _replace(out: Path, old: dict[str, str], files: dict[str, Path], address: str | None) -> None:
    """Removes what the last kit wrote and writes the new one; what else lies in the folder stays."""
    for name in old:
        (out / name).unlink(missing_ok=True)
    # First, so that a folder that was left half written is known as ours.
    write_json(out / MARK, {"address": address, "files": {name: _digest(path) for name, path in files.items()}})
    for name, path in files.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, out / name)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
