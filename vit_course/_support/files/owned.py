"""A folder that a command writes as a whole and renews: it knows what it wrote by a list, and touches nothing else."""

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vit_course._support.files.atomic import write_atomically, write_json
from vit_course._support.files.records import need_object, read_json
from vit_course._support.inputs.rules import path_name


@dataclass(frozen=True)
class Owned:
    """One kind of such a folder.

    Args:
        mark: the name of the list in it, such as "kit.json": a checksum for each file, as it was written.
        what: it is called.
    """

    mark: str
    what: str

    def need_room(self, out: str | Path, overwrite: bool = True) -> dict:
        """Makes sure that the folder can be written without harm to anything; -> what was noted of it the last time.

        Args:
            out: the folder.
            overwrite: whether one of this kind that is there may be renewed.

        Raises:
            ValueError: a name that no folder can have, a file, a folder that holds something else, or one of this kind
                that may not be renewed, whose list is damaged, or of whose files one was changed since.
        """
        path_name("the name of the folder", out)
        out = Path(out)
        if not os.path.lexists(out) or (out.is_dir() and not any(out.iterdir())):
            return {"files": {}}
        if not out.is_dir():
            raise ValueError(f"{out} is a file: name a folder")
        if not os.path.lexists(out / self.mark):
            there = _some(path.name for path in out.iterdir())
            raise ValueError(f"{out} holds something that is not a {self.what}: {there}; name another folder")
        try:
            noted = read_json(out / self.mark)
            files = need_object(f"{out / self.mark}: files", noted.get("files"))
        except ValueError as error:
            raise ValueError(f"{error}: that is not a list of a {self.what}; name another folder") from error
        if not overwrite:
            raise ValueError(f"{out} holds a {self.what}: add --force to replace it, or name another folder")
        if outside := [name for name in files if not _is_inside(out, name)]:
            raise ValueError(
                f"{out / self.mark} names files that are not within {out}: {_some(outside)}; name another folder"
            )
        if changed := [name for name, digest in files.items() if not _is_still(out / name, digest)]:
            words = f"{out} has files that were changed since the {self.what} was written: {_some(changed)}"
            raise ValueError(f"{words}; rename them, or name another folder")
        return noted

    def renew(self, out: str | Path, made: Path, overwrite: bool = True, **noted) -> list[Path]:
        """Puts new files in place of those that were written the last time; what else is there stays.

        Args:
            out, overwrite: as for `need_room`, which is asked again: it may be long ago.
            made: a folder with the new files.
            noted: what else the list says, for `need_room` to give back.

        Returns:
            the files that were written, the list among them.

        Raises:
            ValueError: as `need_room`; or something that is in the way of a new file.
            OSError: as `write_atomically`.
        """
        old, out = self.need_room(out, overwrite)["files"], Path(out)
        new = {path.relative_to(made).as_posix(): _digest(path) for path in sorted(made.rglob("*")) if path.is_file()}
        # The same content is as good as ours: a run that was killed may have left it.
        free = {name for name in new if _is_inside(out, name) and (name in old or _is_still(out / name, new[name]))}
        if foreign := new.keys() - free:
            words = f"{out} holds something where the {self.what} has its own files: {_some(foreign)}"
            raise ValueError(f"{words}; rename that, or name another folder")
        for name in old:
            (out / name).unlink(missing_ok=True)
        for folder in sorted({parent for name in old for parent in Path(name).parents[:-1]}, reverse=True):
            with suppress(OSError):  # not empty: what is in it is not ours
                (out / folder).rmdir()
        # First, so that a folder that was left half written is known as ours.
        write_json(out / self.mark, {**noted, "files": new})
        for name in new:
            write_atomically(out / name, (made / name).read_bytes())
        return [out / self.mark, *(out / name for name in new)]


def _is_inside(out: Path, name: str) -> bool:
    # Neither led out by a link, nor below something that is no folder.
    try:
        folder = (out / name).parent
        there = all(path.is_dir() or not os.path.lexists(path) for path in (folder, *folder.parents))
        return there and "\0" not in name and folder.resolve().is_relative_to(out.resolve())
    except (OSError, RuntimeError, ValueError):  # a name too long, or links in a circle
        return False


def _is_still(path: Path, digest: object) -> bool:
    return not os.path.lexists(path) or (path.is_file() and not path.is_symlink() and _digest(path) == digest)


def _some(names: Iterable[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
