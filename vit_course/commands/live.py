"""`python -m vit_course live`: the page that explores a visitor's photograph in the browser."""

import webbrowser
from contextlib import suppress
from pathlib import Path

from vit_course.commands.console import say
from vit_course.commands.paths import path


def add_to(commands) -> None:
    """Adds this command to the subparsers of the command line."""
    live = commands.add_parser(
        "live",
        help="write a page that explores a visitor's own photograph in the browser",
        description="Writes a folder of static files: a page in which a visitor drops a photograph and explores the "
        "attention of a real Vision Transformer on it. Everything is computed in the visitor's browser, without "
        "Python, an upload or any other server. Any server of static files will do, and --serve is one.",
    )
    live.add_argument("folder", nargs="?", type=path, default=Path("live"), help="the folder (default: live)")
    live.add_argument("--force", action="store_true", help="replace a live page that already exists")
    live.add_argument(
        "--serve",
        action="store_true",
        help="then serve the page on this machine and open it in your browser; if there is a live page "
        "already, it is served as it is",
    )
    live.add_argument("--port", type=int, default=8000, help="where --serve serves it; 0 for any port (default: 8000)")
    live.add_argument("--no-browser", action="store_true", help="do not open a browser with --serve")
    live.set_defaults(run=run)


def run(options) -> int:
    """Writes the folder and says how to open it, or serves it until Ctrl-C; returns 0."""
    from vit_course.explorer.live_page import is_live, write_live

    if options.serve:  # before anything is written, as it needs a package of the extra "course"
        from vit_course.explorer.live_page.serving import serve
    if not (options.serve and is_live(options.folder) and not options.force):
        size = write_live(options.folder, overwrite=options.force)
        say(
            f"{options.folder}: {size / 1e6:.0f} MB; to see it, add --serve, or run  python -m http.server -d "
            f"{options.folder}  and open http://localhost:8000"
        )
    if options.serve:
        serve(options.folder, options.port, lambda address: _tell(options, address))
    return 0


def _tell(options, address: str) -> None:
    say(f"{options.folder} is served at {address} until you press Ctrl-C")
    if not options.no_browser:
        with suppress(Exception):  # whatever is wrong with the browser, the page is served
            webbrowser.open(address)
