"""The folder of a training run: its config, its log, its best weights, its state, its lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from vit_course.data import Dataset, unreadable
from vit_course.files.atomic import remove_leftovers, write_atomically, write_csv, write_json
from vit_course.files.weights import load_weights, save_weights, write_tensors
from vit_course.training.describe import described, need_history, need_the_same
from vit_course.training.lock import Lock
from vit_course.training.processes import Alone, first_alone, need_the_same_folder
from vit_course.training.recipe import TrainingConfig
from vit_course.training.state import RunState

if TYPE_CHECKING:
    from accelerate import Accelerator

FILES = (
    "best.safetensors", "last.safetensors", "log.csv", "unreadable.txt", "config.json", "result.json", "curves.png"
)  # fmt: skip


class RunFolder:
    """Where a run keeps its files; the first process alone writes, all read. A crash leaves whole files behind.

    Args:
        path: the folder, made when it is opened; None for a run that keeps nothing.
        engine: of the processes.
        model, dataset, config: what is trained, on what, how: kept in the state, and compared where a run goes on.
    """

    def __init__(
        self,
        path: str | Path | None,
        engine: "Accelerator | Alone",
        model: nn.Module,
        dataset: Dataset,
        config: TrainingConfig,
    ):
        self.path, self.engine, self.dataset = None if path is None else Path(path), engine, dataset
        self.described = described(model, dataset, config)

    @contextmanager
    def opened(self, state: RunState, resume: bool) -> Iterator[list[dict]]:
        """Locks the folder while the with block runs; yields the history so far, one dict an epoch.

        Args:
            state: put back as it was, where the run goes on.
            resume: whether it goes on.

        Raises:
            ValueError: nothing to resume, a folder that holds a run already, that another process has locked, that not
                all processes see, or whose run was made of something else.
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
                else:
                    self._file("unreadable.txt").unlink(missing_ok=True)
            yield history
        finally:
            if self.engine.is_main_process:
                lock.release()

    def keep(self, state: RunState, history: list[dict], kept: nn.Module) -> None:
        """Writes what the epoch gave: the state, the log, and the weights `kept` where they are the best so far.

        Args:
            state: of the run.
            history: one dict an epoch, the last one of this epoch.
            kept: the model that was validated.

        Raises:
            OSError: a file that cannot be written; what was there before is intact.
        """
        if self.path is None:
            return
        # All processes take part in these.
        tensors, names = state.tensors(), unreadable(self.dataset, self.engine)
        if self.engine.is_main_process:
            if not self._file("config.json").exists():
                write_json(self._file("config.json"), self._config())
            add_names(self._file("unreadable.txt"), names)
            if all(history[-1]["validation_accuracy"] > row["validation_accuracy"] for row in history[:-1]):
                save_weights(self._file("best.safetensors"), kept)
            save_state(self._file("last.safetensors"), tensors, {**self.described, "history": history})
            write_csv(self._file("log.csv"), history)
        self.engine.wait_for_everyone()

    def _file(self, name: str) -> Path:
        return self.path / name

    def _resumed(self, state: RunState) -> list[dict]:
        path = self._file("last.safetensors")
        tensors, metadata = load_weights(path)
        if "recipe" not in metadata:
            raise ValueError(f"{path} holds no state of a run to go on with, {len(tensors)} tensors of something else")
        for part in (*self.described, "history"):
            if not isinstance(metadata.get(part), list if part == "history" else dict):
                raise ValueError(f"{path} does not say of what {part} it is: a run of an earlier version is begun anew")
        need_the_same(path, metadata, self.described)
        need_history(path, metadata["history"], self.described["recipe"]["epochs"])
        state.restore(path, tensors)
        return metadata["history"]

    def _config(self) -> dict:
        # What is needed to show the model a picture, and to repeat the run.
        images = {name: list(getattr(self.dataset, name)) for name in ("class_names", "mean", "std")}
        data = self.dataset.source or {"source": self.dataset.name}
        return {"data": data, "images": images, "model": self.described["model"], "training": self.described["recipe"]}


def save_state(path: str | Path, tensors: dict[str, torch.Tensor], metadata: dict) -> None:
    """Writes everything that a run needs to go on.

    In one file, so that weights, optimiser and random state cannot come from different epochs.

    Args:
        path: the file, replaced whole or not at all.
        tensors: from `RunState.tensors`.
        metadata: what was trained, on what and how, and the history.
    """
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
