"""The names of the sources of data, apart from a folder of one's own.

Each is a file of `vit_course/data` with a function of the same name that returns a `Dataset`. They stand here, where
no PyTorch is imported, because the command line asks for them before PyTorch is there.
"""

from vit_course._support.inputs.rules import shown

SOURCES = ("shapes", "digits", "crops", "cifar10")


def need_source(source, is_folder: bool) -> None:
    """Refuses what is neither a source nor a folder.

    Raises:
        ValueError: it is neither.
    """
    if not is_folder and not (isinstance(source, str) and source in SOURCES):
        raise ValueError(f"data must be {', '.join(SOURCES)} or an existing folder, got {shown(source)}")
