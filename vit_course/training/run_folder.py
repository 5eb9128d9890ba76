"""The folder of a training run: its config, its log, its best weights, its state, its lock."""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
from filelock import FileLock, Timeout

from vit_course._support.files.atomic import remove_leftovers, write_atomically, write_csv, write_json
from vit_course._support.files.records import naming
from vit_course._support.files.validated import check_like
from vit_course._support.files.weights import load_weights, save_weights, write_tensors
from vit_course.data import Dataset, unreadable
from vit_course.training.describe import SUPERVISED, described, need_the_same
from vit_course.training.objective import Objective
from vit_course.training.processes import Engine, first_alone, need_the_same_folder
from vit_course.training.recipe import TrainingConfig
from vit_course.training.state import RunState

REST = "objective.safetensors"  # beside best.safetensors, what an objective without labels has besides its model
FILES = (
    "best.safetensors", "last.safetensors", REST, "log.csv", "unreadable.txt", "config.json", "result.json",
    "curves.png",
)  # fmt: skip


class Lock:
    """The system's lock on a file of the run folder: it ends with the process that has it, however that ends.

    Args:
        folder: the run folder; made by `take` if missing.
    """

    def __init__(self, folder: Path):
        self.path = folder / ".lock"
        self._lock = FileLock(self.path, blocking=False)
        self._made = False

    def take(self) -> None:
        """Takes the lock, and writes into its file whose it is.

        Raises:
            ValueError: another process has it, or another run of this one.
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
        """Gives the lock back, and with it a folder that was made for it alone and is still empty."""
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
    """Where a run keeps its files; the first process alone writes, all read. A crash leaves whole files behind.

    Args:
        path: the folder, made when it is opened; None for a run that keeps nothing.
        engine: of the processes.
        objective, dataset, config: what is trained, on what, how: kept in the state, and compared where a run goes on.
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
            state: put back as it was, where the run goes on.
            resume: whether it goes on.

        Raises:
            ValueError: nothing to resume, or a file of it that is damaged; a folder that holds a run already, that
                another process has locked, that not all processes see, or whose run was made of something else.
            OSError: a folder that cannot be written.
        """
        if self.path is None:
            yield []
            return
        if resume and not self._file("last.safetensors").is_file():
            raise ValueError(f"there is no checkpoint {self._file('last.safetensors')}")
        lock = Lock(self.path)
        first_alone(self.engine, lock.take)
        try:
            need_the_same_folder(self.path, self.engine)
            if self._file("last.safetensors").exists() and not resume:
                raise ValueError(
                    f"{self.path} holds a run already: add --resume (in Python, resume=True) to go on with it, or name "
                    "another folder"
                )
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
        """Writes what the epoch gave: the state, the log, and the model's weights where they are the best so far.

        Args:
            state: of the run.
            history: one dict an epoch, the last one of this epoch.
            validated: the objective with the model that was validated.

        Raises:
            OSError: a file that cannot be written; what was there before is intact.
        """
        if self.path is None:
            return
        # All processes take part in these.
        tensors, names = state.tensors(), unreadable(self.dataset, self.engine)
        if self.engine.is_main_process:
            if len(history) == 1:  # whatever an attempt that was given up has left
                write_json(self._file("config.json"), self._config())
            add_names(self._file("unreadable.txt"), names)
            if validated.is_best(history):
                save_weights(self._file("best.safetensors"), validated.kept)
                if rest := validated.rest():
                    write_tensors(self._file(REST), rest, {})
            save_state(self._file("last.safetensors"), tensors, {**self.described, "history": history})
            write_csv(self._file("log.csv"), history)
        self.engine.wait_for_everyone()

    def _file(self, name: str) -> Path:
        return self.path / name

    def _resumed(self, state: RunState) -> list[dict]:
        path, best = self._file("last.safetensors"), self._file("best.safetensors")
        tensors, metadata = load_weights(path)
        if not {"model", "recipe", "data", "history"} <= metadata.keys():
            raise ValueError(f"{path} holds no state of a run to continue: start the training in another folder")
        need_the_same(path, SUPERVISED | metadata, SUPERVISED | self.described)
        if not best.exists():
            raise ValueError(f"{best} is missing: put it back from a copy, or start again in another folder")
        weights, _ = load_weights(best)
        with naming(best):
            check_like(weights, state.validated.kept.state_dict())
        state.restore(path, tensors)
        return metadata["history"]

    def _config(self) -> dict:
        # What is needed to show the model a picture, and to repeat the run.
        images = {name: list(getattr(self.dataset, name)) for name in ("class_names", "mean", "std")}
        data = self.dataset.source or {"source": self.dataset.name}
        model, objective = self.described["model"], self.described.get("objective")
        content = {"data": data, "images": images, "model": model, "training": self.described["recipe"]}
        return content if objective is None else content | {"objective": objective}


def save_state(path: Path, tensors: dict[str, torch.Tensor], metadata: dict) -> None:
    """One file, replaced whole or not at all: weights, optimiser and random state cannot come from different epochs."""
    write_tensors(path, tensors, metadata)


def add_names(path: str | Path, names: list[str]) -> list[str]:
    """-> all names of a list in a file, one a line, sorted, after `names` have joined it; no file where there are none.

    What is there already stays: each part of a run that was broken off and gone on with has seen other names.
    """
    path = Path(path)
    found = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")[:-1] if path.is_file() else []
    everything = sorted({*found, *names})
    if everything != found:
        write_atomically(path, "".join(f"{name}\n" for name in everything).encode("utf-8", "surrogateescape"))
    return everything
