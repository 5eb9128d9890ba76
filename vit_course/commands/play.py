"""`python -m vit_course play`: the figures of the chapters that can be dragged, as pages."""

from pathlib import Path

from vit_course.commands.console import say
from vit_course.commands.paths import path

MARKER = "play.json"


def add_to(commands) -> None:
    """Adds this command to the subparsers of the command line."""
    play = commands.add_parser(
        "play",
        help="write the figures that can be dragged as pages",
        description="Writes a folder with a page for each figure of the chapters that can be dragged, and a page with "
        "all of them. They need no server and no network: open index.html, or pass a page on.",
    )
    play.add_argument("folder", nargs="?", type=path, default=Path("play"), help="the folder (default: play)")
    play.add_argument("--force", action="store_true", help="replace the pages of an earlier run")
    play.set_defaults(run=run)


def run(options) -> int:
    """Writes the folder and says what to open; returns 0."""
    import tempfile

    from vit_course._support.files.output_folder import need_output_folder, write_output_folder
    from vit_course.explorables.gallery import write_pages

    need_output_folder(options.folder, MARKER, options.force)
    with tempfile.TemporaryDirectory() as name:
        write_pages(Path(name))
        files = write_output_folder(options.folder, Path(name), MARKER, options.force)
    say(f"{options.folder}: {len(files)} pages; open {options.folder / 'index.html'}")
    return 0
