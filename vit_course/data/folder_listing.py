"""Finds the pictures of a folder: its classes and splits, and the files that are left out, with the reason."""

import hashlib
import os
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from PIL import Image

from vit_course.data.pictures import FORMATS

SPLITS = ("train", "validation", "test")
# The names of folders of splits, as torchvision's and Hugging Face's users write them, in any case.
SPLIT_OF = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "validation"),
    **dict.fromkeys(("test", "testing"), "test"),
}
# Folders and files that systems and programs make for themselves; names that begin with a dot are hidden, too.
OF_PROGRAMS = {
    *("@eaDir", "__MACOSX", "__pycache__", "$RECYCLE.BIN", "System Volume Information", "lost+found"),
    *("Thumbs.db", "desktop.ini", "Icon\r"),
}
HIDDEN, OTHER, COPY = "hidden", "another file type", "a copy of another picture"
LOOSE, TWO_CLASSES = "in no class's folder", "the same picture in two classes"


@dataclass
class Listing:
    """The pictures of a folder.

    Args:
        classes: their names, sorted; a label is the place of its name.
        pictures: by split, or all under "" if the folder has no splits: (path, label), sorted by path within a class.
        left_out: by reason, the paths of what was left out.
    """

    classes: tuple[str, ...]
    pictures: dict[str, list[tuple[str, int]]]
    left_out: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))


def list_pictures(root: str) -> Listing:
    """Lists the pictures of a folder with a sub-folder for each class, or with such folders in `train`, `val`, `test`.

    Hidden files and folders are left out, and so are files with another ending than a picture's. A folder to which
    several links lead is read once. Of identical files one is kept, that of the test or validation split, or else the
    first; if they are in two classes, none.

    Raises:
        ValueError: not a folder; folders of splits beside others, two folders of one split, or splits with other
            classes than the training split; fewer than two classes; or a class without pictures.
    """
    path = Path(root)
    if not path.is_dir():
        raise ValueError(f"{path.resolve()} must be a folder with a sub-folder of images for each class")
    places = _split_folders(path) or {"": root}
    left_out: dict[str, list[str]] = defaultdict(list)
    for place in sorted({root, *places.values()}):
        _note_loose(Path(place), left_out)
    by_split = {split: _folders(Path(place)) for split, place in places.items()}
    first = next(iter(by_split))  # the training split, or the folder itself
    classes = tuple(by_split[first])
    if len(classes) < 2:
        raise ValueError(
            f"{Path(places[first]).resolve()} has {len(classes)} class{'' if len(classes) == 1 else 'es'}, but at "
            "least 2 are needed, each a sub-folder of images"
        )
    for split, folders in by_split.items():
        if others := [name for name in folders if name not in classes]:
            raise ValueError(f"{places[split]} has the class {others[0]!r}, which {places[first]} does not have")
    pictures = {
        split: [(file, classes.index(name)) for name in folders for file in _files(folders[name], left_out)]
        for split, folders in by_split.items()
    }
    listing = _without_copies(Listing(classes, pictures, left_out))
    found = {label for _, label in listing.pictures[first]}
    for label, name in enumerate(classes):
        if label not in found:
            raise ValueError(f"the class {name!r} has no picture{_why_empty(by_split[first][name], left_out)}")
    return listing


def is_hidden(name: str) -> bool:
    """Whether a file or folder is hidden, or made by a program for itself."""
    return name.startswith(".") or name in OF_PROGRAMS


@cache
def picture_endings() -> frozenset[str]:
    """The endings of all formats that are opened, such as ".jfif", in small letters."""
    Image.init()
    return frozenset(ending for ending, name in Image.registered_extensions().items() if name in FORMATS)


def _folders(folder: Path) -> dict[str, str]:
    # -> the paths of the visible sub-folders by name, sorted.
    return {
        entry.name: str(entry) for entry in sorted(folder.iterdir()) if entry.is_dir() and not is_hidden(entry.name)
    }


def _note_loose(folder: Path, left_out: dict[str, list[str]]) -> None:
    # Notes what lies beside the folders of the classes.
    for entry in sorted(folder.iterdir()):
        if is_hidden(entry.name):
            left_out[HIDDEN].append(str(entry))
        elif not entry.is_dir() and entry.suffix.lower() in picture_endings():
            left_out[LOOSE].append(str(entry))


def _split_folders(root: Path) -> dict[str, str] | None:
    # -> the folder of each split, the training split first; None if the sub-folders are classes.
    folders = _folders(root)
    splits: dict[str, str] = {}
    for name, place in folders.items():
        if (split := SPLIT_OF.get(name.lower())) is not None and _folders(Path(place)):
            if split in splits:
                raise ValueError(
                    f"{splits[split]} and {place} are both named as the {split} split: keep only one of them"
                )
            splits[split] = place
    others = [name for name in folders if folders[name] not in splits.values()]
    if "train" not in splits or (len(splits) == 1 and others):
        if len(splits) > 1:
            raise ValueError(f"{root} has folders of splits ({_names(splits)}), but none named train")
        named = [name for name in others if name.lower() in SPLIT_OF]
        if len(named) > 1:
            raise ValueError(
                f"{root} has {' and '.join(named)}, which are named as splits but have no folders of classes in them: "
                "put the pictures into a folder for each class, or rename them if they are classes"
            )
        return None
    if others:
        raise ValueError(
            f"{root} has folders of splits ({_names(splits)}), and next to them {others[0]!r}: move it elsewhere"
        )
    return {split: splits[split] for split in SPLITS if split in splits}


def _names(splits: dict[str, str]) -> str:
    return ", ".join(Path(place).name for place in splits.values())


def _files(folder: str, left_out: dict[str, list[str]]) -> list[str]:
    # -> the pictures in a folder and in those below it, sorted by folder and name.
    here = Path(folder).absolute()  # may be a link, which has other folders above it than its target
    found, seen = [], {os.path.realpath(above) for each in (here, here.resolve()) for above in (each, *each.parents)}
    for place, folders, names in os.walk(folder, followlinks=True):
        for name in list(folders):
            inside = os.path.join(place, name)  # noqa: PTH118 (as os.walk writes it)
            if is_hidden(name):
                left_out[HIDDEN].append(inside)
                folders.remove(name)
            elif (leads_to := os.path.realpath(inside)) in seen:
                folders.remove(name)  # a link to a folder that is read already, such as one above it
            else:
                seen.add(leads_to)
        for name in sorted(names):
            file = os.path.join(place, name)  # noqa: PTH118
            if is_hidden(name):
                left_out[HIDDEN].append(file)
            elif Path(name).suffix.lower() not in picture_endings():
                left_out[OTHER].append(file)
            else:
                found.append((place, file))
    return [file for _, file in sorted(found)]


def _why_empty(folder: str, left_out: dict[str, list[str]]) -> str:
    # The files in the folder by the reason why they are left out.
    inside = {
        reason: [file for file in files if Path(folder) in Path(file).parents] for reason, files in left_out.items()
    }
    reasons = [
        f"{len(files)} left out ({reason}), such as {Path(files[0]).name}" for reason, files in inside.items() if files
    ]
    return f": {folder} has {'; '.join(reasons) if reasons else 'no files'}"


def _without_copies(listing: Listing) -> Listing:
    """Keeps one of several identical files, so that none is on both sides of a split, and none in two classes."""
    by_size: dict[int, list[tuple[str, int]]] = defaultdict(list)
    # The test split first: a copy of one of its pictures is left out of the others.
    for split in reversed(listing.pictures):
        for file, label in listing.pictures[split]:
            if Path(file).is_file() and (size := Path(file).stat().st_size):  # an empty file is no picture, nor a copy
                by_size[size].append((file, label))
    reasons: dict[str, str] = {}
    for same_size in by_size.values():
        same: dict[bytes, list[tuple[str, int]]] = defaultdict(list)
        for file, label in same_size if len(same_size) > 1 else ():
            with Path(file).open("rb") as content:
                same[hashlib.file_digest(content, "sha256").digest()].append((file, label))
        for (first, of), *others in same.values():
            contradict = any(label != of for _, label in others)
            reasons |= {file: TWO_CLASSES if contradict else COPY for file, _ in others}
            reasons |= {first: TWO_CLASSES} if contradict else {}
    for file in sorted(reasons):
        listing.left_out[reasons[file]].append(file)
    for split, pictures in listing.pictures.items():
        listing.pictures[split] = [each for each in pictures if each[0] not in reasons]
    return listing
