"""What the kit is made with, beside the course's own packages."""

from importlib.util import find_spec

from vit_course.inputs.extras import install_line

# What is imported -> what it is installed as.
PACKAGES = {
    "typst": "typst",
    "ziamath": "ziamath",
    "markdown_it": "markdown-it-py",
    "mdit_py_plugins": "mdit-py-plugins",
    "nbformat": "nbformat",
    "sphinx": "sphinx",
    "sphinx_revealjs": "sphinx-revealjs",
    "myst_parser": "myst-parser",
}


def need_packages() -> None:
    """Makes sure that all of them are installed.

    Raises:
        ValueError: some are not; the sentence names them and the line that installs them.
    """
    missing = [package for name, package in PACKAGES.items() if find_spec(name) is None]
    if missing:
        raise ValueError(f"the kit needs {', '.join(missing)}. Run: {install_line('kit')}")
