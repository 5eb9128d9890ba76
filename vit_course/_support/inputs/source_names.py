"""The names of the sources of data, apart from a folder of one's own.

Each is a file of `vit_course/data` with a function of the same name that returns a `Dataset`. The names are listed
here because this module imports no PyTorch, and the command line needs them before PyTorch is imported.
"""

from vit_course._support.inputs.rules import shown

SOURCES = ("shapes", "digits", "crops", "scenes", "cifar10")


def check_source(source, is_folder: bool) -> None:
    """Checks the name of a source of data, or that a folder was given.

    Raises:
        ValueError: neither a known source nor a folder.
    """
    if not is_folder and not (isinstance(source, str) and source in SOURCES):
        raise ValueError(f"data must be {', '.join(SOURCES)} or an existing folder, got {shown(source)}")
