"""Names of files and weights on the command line, and what can be said of them before PyTorch is imported."""

import argparse
from pathlib import Path


def add_weights(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds `--weights`, any name or path that `pretrained.load_run` takes, and `--image-size`."""
    parser.add_argument(
        "--weights",
        default=default,
        help="a name that comes with the course (vit-s14, vit-s14-cifar10, shapes, tiny-cifar, mae-cifar, "
        "dino-cifar), the folder of one of your runs or its best.safetensors, a published model by the name that its "
        "library gives it (timm:NAME, hf:NAME, torchvision:NAME), which is downloaded the first time, or a folder that "
        f"timm or transformers has saved (default: {default})",
    )
    parser.add_argument(
        "--image-size",
        type=int,
        help="the side in pixels to which the picture is resized, a multiple of the patch size; positions are "
        "interpolated (default: the size that the weights were made for)",
    )


def need_picture(name: str) -> None:
    """Makes sure that there is such a file; what it holds, or that a URL is none, is said where it is opened.

    Raises:
        ValueError: there is none, or it is a folder.
    """
    if "://" not in name and not (name and Path(name).exists()):
        raise ValueError(f"there is no file {name or 'without a name'}")
    if Path(name).is_dir():
        raise ValueError(f"{name} is a folder: give the file of a picture")


def need_checkpoint(name: str) -> None:
    """Makes sure that there is such a file, if it is the name of one; other names are looked up where they are known.

    Raises:
        ValueError: there is none.
    """
    if name.endswith(".safetensors") and not Path(name).exists():
        raise ValueError(f"there is no checkpoint {name!r}")


def path(text: str) -> Path:
    """The type of an argument that names a file or a folder: an empty name would be that of the folder where one is."""
    if not text:
        raise argparse.ArgumentTypeError("a name is needed, got an empty one")
    return Path(text)


def need_new_file(file: Path, ending: str, force: bool, *read: str | None) -> None:
    """Makes sure that a file can be written without harm to another.

    Args:
        file: to be written.
        ending: of its name, such as ".html".
        force: whether it may replace what is there.
        read: names of files from which it is made, which it may not replace; None for none.

    Raises:
        ValueError: it is there already, or is one of those, or has not the name of such a file.
    """
    if file.suffix != ending:
        raise ValueError(f"the file to write must end in {ending}, got {file}")
    if not file.exists():
        return
    for name in read:
        if name and Path(name).exists() and file.samefile(name):
            raise ValueError(f"{file} is the file that is read, and would be lost: name another file with --out")
    if not force:
        raise ValueError(f"{file} exists: add --force to overwrite it, or name another file with --out")
