"""`python -m vit_course site`: all chapters as web pages."""

from pathlib import Path

from vit_course._support.files.course_files import course
from vit_course.commands.console import say
from vit_course.commands.paths import path


def add_to(commands) -> None:
    """Adds this command to the subparsers of the command line."""
    site = commands.add_parser(
        "site",
        help="write all chapters as web pages",
        description="Writes a folder of web pages with all chapters and their stored outputs: it opens in any browser, "
        "without Python and without a network. Nothing is executed.",
    )
    site.add_argument("-o", "--out", type=path, default=Path("site"), help="the folder (default: site)")
    site.add_argument("--force", action="store_true", help="replace a site that already exists")
    site.set_defaults(run=run)


def run(options) -> int:
    """Builds the site from the chapters and says where it is; returns 0."""
    from vit_course.teaching.site import build

    pages = build(course(), options.out, overwrite=options.force)
    say(f"{options.out}: {pages} pages; open {options.out / 'index.html'} in a browser")
    return 0
