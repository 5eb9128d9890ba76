"""Your own images: a folder with a sub-folder for each class."""

import os
from pathlib import Path

import numpy as np
import torch

from vit_course._support.inputs.arguments import check_arguments, height_and_width
from vit_course._support.inputs.extras import extra
from vit_course._support.inputs.source_names import SOURCES
from vit_course.data.dataset import Dataset, source_of, with_statistics
from vit_course.data.memory import check_memory
from vit_course.data.pictures import need_path, open_image, open_picture
from vit_course.data.sets import ImageFiles, ImageSet


def folder(root: str | Path, image_size: int | tuple[int, int] = 32, seed: int = 0, on_disk: bool = False) -> Dataset:
    """Your own images: one sub-folder per class, named after the class. Split 80 / 10 / 10 at random.

    Every image is turned upright (EXIF), made RGB, resized so that it covers `image_size`, and cropped at the centre.

    Args:
        root: the folder of the classes.
        image_size: in pixels; one int means a square, a pair is (height, width).
        seed: of the random split.
        on_disk: leave the images on disk and open them batch by batch, for more than fit into memory. Damaged files
            are then left out and named in `unreadable`; mean and deviation are those of 1,000 images.

    Raises:
        ValueError: no such folder, fewer than two classes, a class without images or, on disk, without one that can
            be read, fewer than 10 images in all, more than fit into memory, an argument of another kind or, where all
            are read at once, a file that is not a readable image; the file is named.
        OSError: as `pictures.open_picture`.
    """
    root = need_path("folder", root)
    height, width = height_and_width("image_size", image_size)
    check_arguments(seed=seed, on_disk=on_disk)
    paths, labels, classes = _find(root)
    order = np.random.RandomState(seed).permutation(len(paths))
    tenth = len(order) // 10
    split = np.split(order, [len(order) - 2 * tenth, len(order) - tenth])
    parts = [ImageFiles(paths[part], labels[part], (height, width)) for part in split]
    # One part is there twice while its images are stacked: the largest or, on disk, the 1,000 for the statistics.
    held = 2 * min(1000, len(parts[0])) if on_disk else len(paths) + len(parts[0])
    instead = "ask for a smaller image_size" if on_disk else "leave them on disk with on_disk=True"
    check_memory(3 * held * height * width, f"{held} images of {height} x {width}", instead)
    source = source_of(folder, _told_from_words(root), image_size=(height, width), seed=seed, on_disk=on_disk)
    if not on_disk:
        parts = [_read(part) for part in parts]
    dataset = with_statistics(Path(root).name, *parts, classes, source)
    if on_disk:
        _check_one_of_each(classes, paths, labels)
    return dataset


def _find(root: str) -> tuple[np.ndarray, torch.Tensor, tuple[str, ...]]:
    """Returns the files (n,), their labels (n,) and the names of the classes."""
    with extra("course", "a folder of images"):
        from torchvision.datasets import ImageFolder
    try:
        files = ImageFolder(root)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ValueError(
            f"{Path(root).resolve()} must be a folder with a sub-folder of images for each class: {error}"
        ) from error
    if len(files.classes) < 2:
        raise ValueError(f"{Path(root).resolve()} has {len(files.classes)} class, but at least 2 are needed")
    if len(files) < 10:
        raise ValueError(f"{Path(root).resolve()} has {len(files)} images, but at least 10 are needed for three parts")
    return np.array([path for path, _ in files.samples]), torch.tensor(files.targets), tuple(files.classes)


def _check_one_of_each(classes: tuple[str, ...], paths: np.ndarray, labels: torch.Tensor) -> None:
    # Otherwise training would skip the damaged files one by one, and end without ever seeing the class.
    for label, name in enumerate(classes):
        if not any(_can_be_read(path) for path in paths[(labels == label).numpy()]):
            raise ValueError(f"not one image of the class {name!r} can be read")


def _can_be_read(path: str) -> bool:
    try:
        open_picture(path)
    except ValueError:
        return False
    return True


def _read(files: ImageFiles) -> ImageSet:
    images = [open_image(path, files.image_size) for path in files.paths]  # the error names the first damaged file
    return ImageSet(torch.stack(images), files.labels)


def _told_from_words(root: str) -> str:
    # In a recipe, "shapes" means the generated images, so a folder of that name becomes "./shapes".
    return os.path.join(".", root) if root in SOURCES else root  # noqa: PTH118 (keeps the dot)
