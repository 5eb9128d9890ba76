"""Files that a crash cannot harm: weights, the whole state of a run, and its log."""

import csv
import errno
import io
import json
import os
import reprlib
import shutil
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import nn

if TYPE_CHECKING:
    from vit_course.training import TrainingConfig

METADATA_KEY = "vit_course"
RUN_FILES = (
    "best.safetensors", "last.safetensors", "log.csv", "unreadable.txt", "config.json", "result.json", "curves.png"
)  # fmt: skip


def save_weights(path: str | Path, model: nn.Module, **metadata) -> None:
    """Writes a model's weights as safetensors, whole or not at all; a ViT's config goes along, as do `metadata`."""
    if hasattr(model, "config"):
        metadata = {"config": model.config.to_dict(), **metadata}
    _write_tensors(path, model.state_dict(), metadata)


def load_weights(path: str | Path) -> tuple[dict[str, torch.Tensor], dict]:
    """-> (state dict, metadata) of a safetensors file.

    Raises:
        ValueError: no such file, or a damaged one.
    """
    try:
        with safe_open(path, "pt") as file:
            metadata = json.loads((file.metadata() or {}).get(METADATA_KEY, "{}"))
            return {key: file.get_tensor(key) for key in file.keys()}, metadata  # noqa: SIM118 (not a dict)
    except FileNotFoundError:
        raise ValueError(f"there is no checkpoint {path}") from None
    except (SafetensorError, OSError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is no whole checkpoint: {error}") from error


def save_state(
    path: str | Path,
    modules: dict[str, nn.Module],
    optimisers: list[torch.optim.Optimizer],
    random: dict[str, torch.Tensor],
    config: "TrainingConfig",
    data: dict,
    history: list[dict],
) -> None:
    """Writes everything that a run needs to go on.

    In one file, so that weights, optimiser and random state cannot come from different epochs.

    Args:
        path: the file, replaced whole or not at all.
        modules: by name, such as "model" and "average".
        optimisers: their moments and step counts are kept.
        random: states of random generators, by name.
        config: the recipe, compared on `restore_state`.
        data: what describes the dataset, in values that JSON has, compared likewise.
        history: one dict an epoch.
    """
    tensors = {f"{name}.{key}": value for name, module in modules.items() for key, value in module.state_dict().items()}
    for i, optimiser in enumerate(optimisers):
        for j, state in optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser.{i}.{j}.{key}": value for key, value in state.items()}
    tensors |= {f"random.{name}": state for name, state in random.items()}
    _write_tensors(path, tensors, {"recipe": asdict(config), "data": data, "history": history})


def restore_state(
    path: str | Path,
    modules: dict[str, nn.Module],
    optimisers: list[torch.optim.Optimizer],
    config: "TrainingConfig",
    data: dict,
) -> tuple[dict[str, torch.Tensor], list[dict]]:
    """-> (random states by name, history); `modules` and `optimisers` get back what `save_state` wrote.

    A file of an older version is taken too, with what it says: it may lack the data, and newer fields of the recipe.

    Raises:
        ValueError: no such file, a damaged one, no state of a run, one of another recipe, dataset or model.
    """
    tensors, metadata = load_weights(path)
    if "recipe" not in metadata:
        raise ValueError(f"{path} holds no state of a run to go on with, {len(tensors)} tensors of something else")
    for name, wanted in asdict(config).items():
        # A file of an older version lacks the newer fields: it was trained with what is their default now.
        found = metadata["recipe"].get(name, getattr(type(config), name))
        if found != wanted:
            raise ValueError(f"{path} was trained with {name} {found}, this run has {name} {wanted}")
    for name, wanted in data.items():
        found = metadata.get("data", {}).get(name, wanted)
        if found != wanted:
            found, wanted = reprlib.repr(found), reprlib.repr(wanted)
            raise ValueError(f"{path} was trained on data of {name} {found}, this run's data are of {name} {wanted}")
    parts: dict[str, dict] = {}
    for key, tensor in tensors.items():
        part, name = key.split(".", 1)
        parts.setdefault(part, {})[name] = tensor
    if set(parts) != {*modules, "optimiser", "random"}:
        needed = ", ".join((*modules, "optimiser", "random"))
        raise ValueError(f"{path} holds the parts {', '.join(sorted(parts))}, this run needs {needed}")
    if "global" in parts["random"]:  # the first version: one process, and so one generator
        parts["random"]["dropout"] = parts["random"].pop("global")[None]
    states: list[dict[int, dict]] = [{} for _ in optimisers]
    for key, tensor in parts["optimiser"].items():
        # The first version had one optimiser, and so no number of it.
        i, j, name = key.split(".") if key.count(".") == 2 else ("0", *key.split("."))
        states[int(i)].setdefault(int(j), {})[name] = tensor
    for part, module in modules.items():
        try:
            module.load_state_dict(parts[part])
        except RuntimeError as error:
            raise ValueError(f"{path} is of another model: {str(error).splitlines()[1].strip()}") from error
    for optimiser, state in zip(optimisers, states, strict=True):
        optimiser.load_state_dict({"state": state, "param_groups": optimiser.state_dict()["param_groups"]})
    return parts["random"], metadata["history"]


def write_csv(path: str | Path, rows: list[dict]) -> None:
    """Writes rows of equal keys as CSV, numbers to 6 decimals, whole or not at all."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=rows[0], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: round(value, 6) if isinstance(value, float) else value for key, value in row.items()})
    write_atomically(path, text.getvalue().encode())


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


def write_atomically(path: str | Path, content: bytes) -> None:
    """Writes a file so that a reader, or a crash, finds the old content or the new, never a part.

    Raises:
        OSError: where it cannot be written, such as on a full disk; what was there before is intact.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise OSError(error.errno, _why_not_written(path, len(content), error)) from error
    finally:
        if path.parent.is_dir():
            temporary.unlink(missing_ok=True)


def remove_leftovers(folder: str | Path) -> None:
    """Removes the half-written files of a run that a killed process left in a folder.

    Whole files stay, and so does what another program made, or a process writes that still lives.
    """
    for name in RUN_FILES:
        for temporary in Path(folder).glob(f".{name}.*"):
            writer = temporary.suffix[1:]
            if writer.isdecimal() and temporary.is_file() and not _lives(int(writer)):
                # Where Windows refuses, it is in use.
                with suppress(PermissionError):
                    temporary.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    if process == os.getpid() or os.name == "nt":  # Windows has no such question, and removes no file that is open
        return False
    try:
        os.kill(process, 0)  # sends nothing
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _why_not_written(path: Path, size: int, error: OSError) -> str:
    text = f"{path} could not be written ({error.strerror or error})"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        existing = next(parent for parent in (path.parent, *path.parents) if parent.is_dir())
        text += f": {size} bytes are needed, {shutil.disk_usage(existing).free} are free in {existing}"
    return f"{text}; what was there before is intact"


def _write_tensors(path: str | Path, tensors: dict[str, torch.Tensor], metadata: dict) -> None:
    tensors = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
    # One key: safetensors writes several in random order, and the same run should give the same bytes.
    write_atomically(path, save(tensors, {METADATA_KEY: json.dumps(metadata)}))
