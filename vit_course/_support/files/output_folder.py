"""The folder that a command writes: its marker file lists what the command wrote there, and nothing else is touched."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from vit_course._support.files.atomic import write_atomically, write_json
from vit_course._support.files.json_files import read_json
from vit_course._support.inputs.rules import path_name

PROGRAM = "vit_course"  # stands in each marker, as another program may have a file of the same name


def need_output_folder(folder: str | Path, marker: str, overwrite: bool = True) -> dict:
    """Checks that a command may write into a folder; returns its marker's content, with the file names under "files".

    Args:
        folder: the folder, which need not exist.
        marker: the name of the marker file, such as "kit.json".
        overwrite: whether the files of an earlier run may be replaced.

    Raises:
        ValueError: a name that no folder can have, a file, a folder with other files and without the marker, a marker
            of another program or one that does not list files of this folder, or an earlier run that may not be
            replaced.
    """
    path_name("the name of the folder", folder)
    folder = Path(folder)
    if os.path.lexists(folder) and not folder.is_dir():
        raise ValueError(f"{folder} is a file: name a folder")
    there = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if not there:
        return {"files": []}
    if marker not in there:
        raise ValueError(
            f"{folder} holds other files and no {marker} of an earlier run: {_some(there)}; name another folder"
        )
    try:
        content = read_json(folder / marker)
    except ValueError as error:
        raise ValueError(f"{error}; name another folder") from error
    files = content.get("files")  # a dict in older markers, with a checksum under each name
    if content.get("program") != PROGRAM and not isinstance(files, dict):
        raise ValueError(f"{folder / marker} was written by another program; name another folder")
    if not isinstance(files, (list, dict)) or not all(_is_within(folder, name) for name in files):
        raise ValueError(f"{folder / marker} must list files that are within {folder}; name another folder")
    if not overwrite:
        raise ValueError(f"{folder} was written by an earlier run: add --force to replace it, or name another folder")
    return {**content, "files": [*files]}


def write_output_folder(folder: str | Path, made: Path, marker: str, overwrite: bool = True, **notes) -> list[Path]:
    """Copies new files into a folder and removes those of an earlier run that are not among them; the rest stays.

    Args:
        folder, marker, overwrite: as for `need_output_folder`, which is called again, as the folder may have changed.
        made: a folder with the new files.
        notes: further entries of the marker.

    Returns:
        the files that were written, the marker among them.

    Raises:
        ValueError: as `need_output_folder`; or something else is in the place of a new file.
        OSError: as `write_atomically`. The marker then lists old and new files, so that the next run can replace them.
    """
    old, folder = need_output_folder(folder, marker, overwrite)["files"], Path(folder)
    new = sorted(path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file())
    taken = {name for name in new if name not in old and os.path.lexists(folder / name)}
    if taken := taken | {name for name in new if not _is_within(folder, name)}:
        words = f"{folder} has something that {marker} does not list where new files must go: {_some(taken)}"
        raise ValueError(f"{words}; rename it, or name another folder")
    notes = {"program": PROGRAM, **notes}
    write_json(folder / marker, {**notes, "files": sorted({*old, *new})})
    for name in new:
        write_atomically(folder / name, (made / name).read_bytes())
    for name in {*old} - {*new}:
        if (folder / name).is_file():
            (folder / name).unlink()
        for parent in Path(name).parents[:-1]:
            with suppress(OSError):  # it is not empty
                (folder / parent).rmdir()
    write_json(folder / marker, {**notes, "files": new})
    return [folder / marker, *(folder / name for name in new)]


def _is_within(folder: Path, name: str) -> bool:
    try:
        return folder.resolve() in (folder / name).resolve().parents
    except (OSError, RuntimeError, TypeError, ValueError):  # not a file name, or a cycle of links
        return False


def _some(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
