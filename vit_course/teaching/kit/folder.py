"""Writes the teacher's folder, with all parts of the kit."""

import tempfile
from pathlib import Path

from vit_course._support.files.course_files import stored
from vit_course._support.files.output_folder import need_output_folder, write_output_folder
from vit_course.teaching.kit.decks import write_decks
from vit_course.teaching.kit.exercises import PaperExercise, paper_exercises
from vit_course.teaching.kit.install import install, write_html, write_install
from vit_course.teaching.kit.schedule import write_schedule
from vit_course.teaching.kit.sheets import write_keys, write_sheets

MARKER = "kit.json"
INDEX = "index.html"


def write_kit(out: Path, address: str | None = None) -> int:
    """Writes the kit into a folder, or updates the kit that is there.

    Args:
        out: the folder.
        address: where learners get the course; None keeps the address of the existing kit, if it has one.

    Returns:
        the number of files.

    Raises:
        ValueError: as `write_output_folder`; the address has characters that are special in a shell; a source file
            names a picture or an exercise that does not exist.
        OSError: it cannot be written.
    """
    old = need_output_folder(out, MARKER).get("address")
    address = old if address is None and isinstance(old, str) else address
    install(address)  # raises an error for a wrong address before anything is written
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        exercises = paper_exercises()
        write_sheets(made / "sheets", exercises)
        write_keys(made / "answers", exercises)
        write_decks(made / "slides")
        write_install(made, address)
        write_schedule(made / "schedule.pdf")
        write_html(made / INDEX, index(exercises))
        return len(write_output_folder(out, made, MARKER, address=address))


def index(exercises: list[PaperExercise]) -> str:
    """The page that says what each file is, as Markdown."""
    text = stored("kit/index.md").read_text(encoding="utf-8")
    lines = [
        f"| [{one.number} {one.title}](sheets/{one.file}.pdf) | {one.minutes} min | [key](answers/{one.file}-key.pdf) |"
        for one in exercises
    ]
    return text.replace("{{sheets}}", "\n".join(lines))
