"""`python -m vit_course kit`: one folder for a teacher."""

from importlib import import_module
from pathlib import Path

from vit_course._support.inputs.extras import extra
from vit_course.commands.console import say
from vit_course.commands.paths import path


def add_to(commands) -> None:
    """Adds this command to the subparsers of the command line."""
    kit = commands.add_parser(
        "kit",
        help="write a teacher's folder: sheets to print, keys, slides, schedule, install page",
        description="Writes a folder for a teacher: a sheet to print for each exercise that is done on paper, "
        "separate keys, slides for the lab of 90 minutes and for each of four weeks, a schedule with measured "
        "minutes, and the page with which learners install the course. Nothing in it needs a network. If the folder "
        "is there from an earlier run, all its files are written again, even those that you have changed; other "
        "files in it stay.",
    )
    kit.add_argument(
        "folder", nargs="?", type=path, default=Path("vit-course-kit"), help="the folder (default: vit-course-kit)"
    )
    kit.add_argument(
        "--from",
        dest="address",
        metavar="ADDRESS",
        help="where learners get the course, in a form that pip takes (git+https://... or the address of a wheel); it "
        "goes into the install page",
    )
    kit.set_defaults(run=run)


def run(options) -> int:
    """Writes the folder and says where to begin; returns 0."""
    with extra("kit", "the kit"):  # before anything is made
        for package in ("sphinx", "sphinx_revealjs", "myst_parser", "typst", "ziamath"):
            import_module(package)
        from vit_course.teaching.kit.folder import write_kit

    files = write_kit(options.folder, options.address)
    say(f"{options.folder}: {files} files; open {options.folder / 'index.html'} in a browser")
    return 0
