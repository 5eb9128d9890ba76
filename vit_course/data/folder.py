"""Your own images: a folder with a sub-folder for each class."""

import os
from pathlib import Path

import numpy as np
import torch

from vit_course._support.inputs.arguments import check_arguments, height_and_width
from vit_course._support.inputs.source_names import SOURCES
from vit_course.data.dataset import Dataset, source_of, with_statistics
from vit_course.data.folder_listing import SPLITS, Listing, list_pictures
from vit_course.data.folder_summary import report, summarise
from vit_course.data.memory import check_memory
from vit_course.data.pictures import bits_of, need_path, open_image, open_picture
from vit_course.data.sets import ImageFiles, ImageSet

LOOKED_AT = 1000  # so many images on disk are read for the statistics and the summary


def folder(root: str | Path, image_size: int | tuple[int, int] = 32, seed: int = 0, on_disk: bool = False) -> Dataset:
    """Your own images: one sub-folder per class, named after the class. Split 80 / 10 / 10 at random.

    If the folder has `train` and `val` or `test` (or only `train`) with the classes in them, these are the splits, and
    one that is missing is a tenth of the training split, drawn at random. Hidden files, files whose names do not end
    like a picture's and copies of a picture are left out (`folder_listing.list_pictures`). The classes with their
    images by split, and what was left out and why, are printed and kept in `Dataset.summary`.

    Every image is turned upright (EXIF), made RGB, resized so that it covers `image_size`, and cropped at the centre.

    Args:
        root: the folder of the classes, or of the splits.
        image_size: in pixels; one int means a square, a pair is (height, width).
        seed: of the random split.
        on_disk: leave the images on disk and open them batch by batch, for more than fit into memory. Damaged files
            are then left out and named in `unreadable`; mean and deviation are those of 1,000 images.

    Raises:
        ValueError: as `list_pictures`; or, on disk, a class without an image that can be read, fewer than 10 images in
            all, more than fit into memory, an argument of another kind or, where all are read at once, a file that is
            not a readable image; the file is named.
        OSError: as `pictures.open_picture`.
    """
    root = need_path("folder", root)
    size = height_and_width("image_size", image_size)
    check_arguments(seed=seed, on_disk=on_disk)
    listing = list_pictures(root)
    total = sum(map(len, listing.pictures.values()))
    if total < 10:
        raise ValueError(f"{Path(root).resolve()} has {total} images, but at least 10 are needed for three parts")
    parts = _split(listing, size, seed, LOOKED_AT if on_disk else total)
    # One part is there twice while its images are stacked: the largest or, on disk, the 1,000 for the statistics.
    held = 2 * min(LOOKED_AT, len(parts[0])) if on_disk else total + len(parts[0])
    instead = "ask for a smaller image_size" if on_disk else "leave them on disk with on_disk=True"
    check_memory(3 * held * size[0] * size[1], f"{held} images of {size[0]} x {size[1]}", instead)
    looked_at = [parts[0][:LOOKED_AT]] if on_disk else [_read(part) for part in parts]
    summary = summarise(listing, parts, looked_at)
    if int(os.environ.get("RANK", "0")) == 0:  # of several processes one
        print(report(Path(root).name, summary))
    source = source_of(folder, _told_from_words(root), image_size=size, seed=seed, on_disk=on_disk)
    images = parts if on_disk else looked_at
    dataset = with_statistics(Path(root).name, *images, listing.classes, source, looked_at[0], summary)
    if on_disk:
        _check_one_of_each(parts[0], listing.classes)
    return dataset


def _split(listing: Listing, size: tuple[int, int], seed: int, looked_at: int) -> list[ImageFiles]:
    """Returns the training, validation and test images; what has no folder of its own is drawn from the first.

    The bits of whole numbers are those of the first `looked_at` images.
    """
    given = dict(listing.pictures)
    drawn = given.pop(next(iter(given)))  # the training split, or all there is
    order = np.random.RandomState(seed).permutation(len(drawn))
    missing = [split for split in SPLITS[1:] if split not in given]
    tenth = max(len(order) // 10, 1)
    pieces = np.split(order, [len(order) - tenth * left for left in range(len(missing), 0, -1)])
    chosen = {"train": [drawn[i] for i in pieces[0]], **given}
    chosen |= {split: [drawn[i] for i in piece] for split, piece in zip(missing, pieces[1:], strict=True)}
    if empty := [split for split in SPLITS if not chosen[split]]:
        raise ValueError(f"the {empty[0]} split has no picture, but at least 1 is needed")
    everything = [path for split in SPLITS for path, _ in chosen[split]]
    bits = bits_of(everything[:looked_at])
    return [
        ImageFiles(
            np.array([path for path, _ in chosen[split]]), torch.tensor([label for _, label in chosen[split]]), size,
            bits=bits,
        )
        for split in SPLITS
    ]  # fmt: skip


def _check_one_of_each(files: ImageFiles, classes: tuple[str, ...]) -> None:
    # Otherwise training would skip the damaged files one by one, and end without ever seeing the class.
    for label, name in enumerate(classes):
        paths = files.paths[(files.labels == label).numpy()]  # none of a class too rare, which the summary names
        if len(paths) and not any(_can_be_read(path, files.bits) for path in paths):
            raise ValueError(f"not one training image of the class {name!r} can be read")


def _can_be_read(path: str, bits: int | None) -> bool:
    try:
        open_picture(path, bits)
    except ValueError:
        return False
    return True


def _read(files: ImageFiles) -> ImageSet:
    images = [open_image(path, files.image_size, files.bits) for path in files.paths]  # an error names the first file
    return ImageSet(torch.stack(images), files.labels)


def _told_from_words(root: str) -> str:
    # In a recipe, "shapes" means the generated images, so a folder of that name becomes "./shapes".
    return os.path.join(".", root) if root in SOURCES else root  # noqa: PTH118 (keeps the dot)
