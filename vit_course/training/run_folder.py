"""The folder of a training run: its config, its log, its best weights, its state, its lock."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from filelock import FileLock, Timeout

from vit_course._support.files.atomic import remove_leftovers, write_atomically, write_csv, write_json
from vit_course._support.files.check_tensors import check_like
from vit_course._support.files.json_files import naming, read_json
from vit_course._support.files.weights import load_weights, save_weights, write_tensors
from vit_course.data import Dataset, unreadable
from vit_course.training.objective import Objective
from vit_course.training.processes import Engine, check_the_same_folder, first_alone
from vit_course.training.recipe import TrainingConfig
from vit_course.training.run_description import SUPERVISED, check_the_same, described
from vit_course.training.run_state import RunState

REST = "objective.safetensors"  # next to best.safetensors: the weights of an objective outside its model
FILES = (
    "best.safetensors", "last.safetensors", REST, "log.csv", "unreadable.txt", "config.json", "result.json",
    "curves.png",
)  # fmt: skip


class Lock:
    """A file lock on the run folder: the system releases it when its process ends, even by a crash.

    Args:
        folder: the run folder; made by `take` if missing.
    """

    def __init__(self, folder: Path):
        self.path = folder / ".lock"
        self._lock = FileLock(self.path, blocking=False)
        self._made = False

    def take(self) -> None:
        """Takes the lock, and writes the process and host of its owner into its file.

        Raises:
            ValueError: another process, or another run of this process, holds the lock.
            OSError: a folder that cannot be written.
        """
        self._made = not self.path.parent.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._lock.acquire()
        except Timeout:
            raise ValueError(
                f"{self._owner()} is training into {self.path.parent}: wait until it ends, or name another folder"
            ) from None
        with suppress(PermissionError):  # Windows lets nobody write into a file that is locked
            self.path.write_text(f"process {os.getpid()} on host {platform.node()}", encoding="utf-8")

    def release(self) -> None:
        """Releases the lock, and removes the folder if `take` made it and it is still empty."""
        self._lock.release()
        self.path.unlink(missing_ok=True)
        if self._made and not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()

    def _owner(self) -> str:
        try:
            return self.path.read_text(encoding="utf-8") or "another process"
        except OSError:
            return "another process"


class RunFolder:
    """The files of a run. Only the first process writes, all processes read. A crash leaves whole files behind.

    Args:
        path: the folder, made when it is opened; None for a run that keeps nothing.
        engine: from `engine_for`.
        objective, dataset, config: what is trained, on what, how; stored with the state, and compared on resuming.
    """

    def __init__(
        self, path: str | Path | None, engine: Engine, objective: Objective, dataset: Dataset, config: TrainingConfig
    ):
        self.path, self.engine, self.dataset = None if path is None else Path(path), engine, dataset
        self.objective, self.described = objective, described(objective, dataset, config)

    @contextmanager
    def opened(self, state: RunState, resume: bool) -> Iterator[list[dict]]:
        """Locks the folder while the with block runs; yields the history so far, one dict an epoch.

        Args:
            state: restored if the run is resumed.
            resume: whether to continue the run in the folder.

        Raises:
            ValueError: nothing to resume, or a damaged file; a folder that already holds a run, or files of the same
                names that are not from a run, is locked by another
                process, is not seen by all processes, or holds a run of another model, recipe or dataset.
            OSError: a folder that cannot be written.
        """
        if self.path is None:
            yield []
            return
        if resume and not self._file("last.safetensors").is_file():
            raise ValueError(f"there is no checkpoint {self._file('last.safetensors')} to resume from")
        lock = Lock(self.path)
        first_alone(self.engine, lock.take)
        try:
            check_the_same_folder(self.path, self.engine)
            if self._file("last.safetensors").exists() and not resume:
                raise ValueError(
                    f"{self.path} already holds a run: add --resume (in Python, resume=True) to continue it, or name "
                    "another folder"
                )
            if not resume:
                self._check_no_others()
            history = self._resumed(state) if resume else []
            if self.engine.is_main_process:
                remove_leftovers(self.path, FILES)
                if history:
                    write_csv(self._file("log.csv"), history)
                    if not self._file("config.json").exists():
                        write_json(self._file("config.json"), self._config())
                else:
                    self._file("unreadable.txt").unlink(missing_ok=True)
            yield history
        finally:
            if self.engine.is_main_process:
                lock.release()

    def keep(self, state: RunState, history: list[dict], validated: Objective) -> None:
        """Writes the results of an epoch: the state, the log, and the model's weights if they are the best so far.

        Args:
            state: of the run.
            history: one dict an epoch, the last one of this epoch.
            validated: the objective with the model that was validated.

        Raises:
            OSError: a file that cannot be written; any earlier file is intact.
        """
        if self.path is None:
            return
        # All processes must take part in these calls.
        tensors, names = state.tensors(), unreadable(self.dataset, self.engine)
        if self.engine.is_main_process:
            if len(history) == 1:  # replaces what an abandoned attempt may have left
                write_json(self._file("config.json"), self._config())
            add_names(self._file("unreadable.txt"), names)
            if validated.is_best(history):
                save_weights(self._file("best.safetensors"), validated.kept, epoch=len(history))
                if rest := validated.rest():
                    write_tensors(self._file(REST), rest, {"epoch": len(history)})
            save_state(self._file("last.safetensors"), tensors, {**self.described, "history": history})
            write_csv(self._file("log.csv"), history)
        self.engine.wait_for_everyone()

    def _file(self, name: str) -> Path:
        return self.path / name

    def _check_no_others(self) -> None:
        # A run that ended early may have left its files, and config.json is the first that it writes.
        there = [name for name in FILES if os.path.lexists(self._file(name))]
        with suppress(ValueError):
            if there and {"data", "images", "model", "training"} <= read_json(self._file("config.json")).keys():
                return
        if there:
            raise ValueError(f"{self._file(there[0])} is not from a run, and would be replaced: name another folder")

    def _resumed(self, state: RunState) -> list[dict]:
        path, best = self._file("last.safetensors"), self._file("best.safetensors")
        tensors, metadata = load_weights(path)
        if not {"model", "recipe", "data", "history"} <= metadata.keys():
            raise ValueError(f"{path} holds no state of a run to continue: start the training in another folder")
        check_the_same(path, SUPERVISED | metadata, SUPERVISED | self.described)
        if not best.exists():
            raise ValueError(f"{best} is missing: restore it from a copy, or start again in another folder")
        weights, about = load_weights(best)
        history = metadata["history"]
        epoch = max(n for n in range(1, len(history) + 1) if state.validated.is_best(history[:n]))
        # Runs of earlier versions do not say the epoch. If the process ended between the two files, the best weights
        # are those of the next epoch, which is trained again.
        if about.get("epoch", epoch) not in (epoch, len(history) + 1):
            raise ValueError(
                f"{best} has the weights of epoch {about['epoch']}, but {path} ended epoch {len(history)} with those "
                f"of epoch {epoch} as the best: the files are of two runs; restore both from one copy"
            )
        with naming(best):
            check_like(weights, state.validated.kept.state_dict())
        state.restore(path, tensors)
        return history

    def _config(self) -> dict:
        # Everything that is needed to apply the model to a picture, and to repeat the run.
        images = {name: list(getattr(self.dataset, name)) for name in ("class_names", "mean", "std")}
        if self.dataset.summary:
            images["summary"] = self.dataset.summary
        data = self.dataset.source or {"source": self.dataset.name}
        model, objective = self.described["model"], self.described.get("objective")
        content = {"data": data, "images": images, "model": model, "training": self.described["recipe"]}
        return content if objective is None else content | {"objective": objective}


def save_state(path: Path, tensors: dict[str, torch.Tensor], metadata: dict) -> None:
    """Writes the state as one atomic file: weights, optimiser and random state cannot come from different epochs."""
    write_tensors(path, tensors, metadata)


def add_names(path: str | Path, names: list[str]) -> list[str]:
    """Adds names to a file that lists them, one a line and sorted, and returns all; without names there is no file.

    Names in the file stay: each part of a run that was interrupted and resumed has seen other names.
    """
    path = Path(path)
    found = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")[:-1] if path.is_file() else []
    everything = sorted({*found, *names})
    if everything != found:
        write_atomically(path, "".join(f"{name}\n" for name in everything).encode("utf-8", "surrogateescape"))
    return everything
