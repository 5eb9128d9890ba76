"""`python -m vit_course live`: the page that explores a visitor's photograph in the browser."""

from pathlib import Path

from vit_course.commands.paths import path
from vit_course.commands.said import say


def add_to(commands) -> None:
    """Adds the command to the parser's."""
    live = commands.add_parser(
        "live",
        help="write a page that explores a visitor's own photograph in the browser",
        description="Writes a folder of static files: a page in which a visitor drops a photograph and explores the "
        "attention of a real Vision Transformer on it. Everything is computed in the visitor's browser, without "
        "Python, an upload or any other server. Any server of static files will do.",
    )
    live.add_argument("folder", nargs="?", type=path, default=Path("live"), help="the folder (default: live)")
    live.add_argument("--force", action="store_true", help="replace a live page that already exists")
    live.set_defaults(run=run)


def run(options) -> int:
    """Writes the folder and says how to open it; -> 0."""
    from vit_course.live import write_live

    size = write_live(options.folder, overwrite=options.force)
    say(
        f"{options.folder}: {size / 1e6:.0f} MB; to see it, run  python -m http.server -d {options.folder}  and open "
        "http://localhost:8000"
    )
    return 0
