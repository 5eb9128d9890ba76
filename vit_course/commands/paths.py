"""File names and weights on the command line, and those checks of them that need no PyTorch."""

import argparse
from pathlib import Path


def add_weights(parser: argparse.ArgumentParser, default: str) -> None:
    """Adds `--weights`, any name or path that `pretrained.load_run` takes, and `--image-size`."""
    parser.add_argument(
        "--weights",
        default=default,
        help="a name that comes with the course (vit-s14, vit-s14-cifar10, shapes, tiny-cifar, mae-cifar, "
        "dino-cifar, clip-scenes), the folder of one of your runs or its best.safetensors, a published model by the "
        "name that its library gives it (timm:NAME, hf:NAME, torchvision:NAME), which is downloaded the first time, or "
        f"a folder saved by timm or transformers (default: {default})",
    )
    parser.add_argument(
        "--image-size",
        type=int,
        help="the side in pixels to which the picture is resized, a multiple of the patch size; positions are "
        "interpolated (default: the size that the weights were made for)",
    )


def check_picture(name: str) -> None:
    """Checks that a picture's file exists. Its content is checked where it is opened, and URLs are refused there.

    Raises:
        ValueError: there is no such file, or it is a folder.
    """
    if "://" not in name and not (name and Path(name).exists()):
        raise ValueError(f"there is no file {name}" if name else "the name of a picture is needed, got an empty one")
    if Path(name).is_dir():
        raise ValueError(f"{name} is a folder: give the file of a picture")


def check_checkpoint(name: str) -> None:
    """Checks that a .safetensors file exists. Other names of weights are checked where they are looked up.

    Raises:
        ValueError: there is no such file.
    """
    if name.endswith(".safetensors") and not Path(name).exists():
        raise ValueError(f"there is no checkpoint {name!r}")


def path(text: str) -> Path:
    """The argparse type of a file or folder name. Refuses an empty one, which `Path` takes as the working directory."""
    if not text:
        raise argparse.ArgumentTypeError("a name is needed, got an empty one")
    return Path(text)


def check_new_file(file: Path, ending: str, force: bool, *read: str | None) -> None:
    """Checks that a file can be written without overwriting another.

    Args:
        file: the file to write.
        ending: the suffix that it must have, such as ".html".
        force: whether an existing file may be replaced.
        read: names of the input files, which must not be replaced; None is skipped.

    Raises:
        ValueError: its folder is missing, the file exists and `force` is False, it is an input file, or it has another
            suffix.
    """
    if file.suffix != ending:
        raise ValueError(f"the file to write must end in {ending}, got {file}")
    if not file.parent.is_dir():
        raise ValueError(f"there is no folder {file.parent} to write {file.name} into: make it, or name another")
    if not file.exists():
        return
    for name in read:
        if name and Path(name).exists() and file.samefile(name):
            raise ValueError(f"{file} is an input file and would be overwritten: name another file with --out")
    if not force:
        raise ValueError(f"{file} exists: add --force to overwrite it, or name another file with --out")
