"""`python -m vit_course lab`: the learner's copy of the course in JupyterLab."""

import os
from pathlib import Path

from vit_course._support.files.course_files import FIRST_CHAPTER, course, is_checkout
from vit_course._support.inputs.extras import extra
from vit_course.commands.console import say
from vit_course.commands.paths import path

COPY = "my_course"
# Defaults for JupyterLab's settings, in the form that it looks for in each folder of JUPYTER_CONFIG_PATH. Without them
# it asks at its first start whether to fetch news. The user's own settings still win.
DEFAULTS = Path(__file__).parents[1] / "teaching" / "learner" / "jupyter"


def add_to(commands) -> None:
    """Adds this command to the subparsers of the command line."""
    lab = commands.add_parser(
        "lab",
        help="open your copy of the course in JupyterLab",
        description="Opens your own copy of the course in JupyterLab at chapter 00; the first time, it makes the copy. "
        "What you have changed is never overwritten. Further flags, such as --no-browser or --port 8889, are passed "
        "on to JupyterLab.",
        allow_abbrev=False,  # --he may be the beginning of a flag of JupyterLab
    )
    lab.add_argument("--folder", type=path, help=f"where your copy is (default: {COPY} in the checkout, or here)")
    lab.add_argument(
        "--fresh",
        metavar="CHAPTER",
        help="first put an untouched copy of this chapter there, such as 03; yours is kept",
    )
    lab.set_defaults(run=run, takes_more=True)


def run(options) -> int:
    """Makes the learner's copy, if there is none yet, and runs JupyterLab until it is stopped; returns 0."""
    with extra("course", "JupyterLab"):  # before anything is made
        from jupyterlab.labapp import LabApp

    from vit_course.teaching.learner import fresh, open_folder

    folder = (options.folder or default_folder()).resolve()
    said = open_folder(folder)
    if options.fresh is not None:
        said.append(fresh(folder, options.fresh))
    for line in said:
        say(line)
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(
        filter(None, [str(DEFAULTS), os.environ.get("JUPYTER_CONFIG_PATH")])
    )
    LabApp.launch_instance(argv=with_ours(options.rest, folder))
    return 0


def default_folder() -> Path:
    """Returns my_course in the checkout or, where the course comes from a wheel, in the working directory."""
    return (course() if is_checkout() else Path.cwd()) / COPY


def with_ours(flags: list[str], folder: Path) -> list[str]:
    """Returns the flags for JupyterLab: our defaults, except those that the user's flags set, then the user's flags.

    JupyterLab's own login token stays in use.
    """
    ours = [
        f"--ServerApp.root_dir={folder}",
        f"--LabApp.default_url=/lab/tree/{Path(FIRST_CHAPTER).name}",
        "--ServerApp.ip=127.0.0.1",
        "--LabApp.news_url=None",  # the course needs no network
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # in a container there is often no other user
        ours.append("--allow-root")
    given = {_setting(flag) for flag in flags}
    return [*(flag for flag in ours if _setting(flag) not in given), *flags]  # JupyterLab takes no flag twice


def _setting(flag: str) -> str:
    """Returns the setting behind a flag in any spelling: ServerApp.ip for --ip 0.0.0.0 and --ServerApp.ip=0.0.0.0."""
    from jupyterlab.labapp import LabApp

    name = flag.partition("=")[0].lstrip("-")
    if name in LabApp.flags:
        settings, _ = LabApp.flags[name]
        return next((f"{owner}.{setting}" for owner, values in settings.items() for setting in values), name)
    return LabApp.aliases.get(name, name)
