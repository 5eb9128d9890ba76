"""Files of published models: found in a folder, in a cache or on a hub, checked, and read without trusting them."""

import hashlib
import pickle
import re
import socket
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from functools import reduce
from pathlib import Path

import torch

from vit_course._support.files.records import naming, need_file, read_json
from vit_course._support.files.weights import load_weights
from vit_course._support.inputs.rules import shown
from vit_course.pretrained.diagnostics import checked

# In this order of preference. An index lists the parts of weights that were split.
WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
SECONDS = 10  # without an answer, after which a server counts as out of reach

Find = Callable[..., Path | None]


def in_folder(*folders: Path) -> Find:
    """-> a function: names of files in the order of preference -> the path of the first that is there, or None.

    Of several folders the first counts, and the next where it has none of the names.
    """
    return lambda *names: next(
        (folder / name for folder in folders for name in names if (folder / name).is_file()), None
    )


def in_repository(repository: str) -> Find:
    """As `in_folder`, of a repository on the Hugging Face hub: out of the cache, or else downloaded and checked.

    What is in the cache is taken as it is, without asking the network.
    """

    def find(*names: str) -> Path | None:
        from huggingface_hub import try_to_load_from_cache

        cached = (try_to_load_from_cache(repository, name) for name in names)
        path = next((path for path in cached if isinstance(path, str)), None)
        if path is not None:
            return Path(path)
        downloaded = (_download(repository, name) for name in names)
        return next((path for path in downloaded if path is not None), None)

    return find


def read_weights(find: Find) -> dict[str, torch.Tensor]:
    """The state dict from a folder or repository, whole or in parts; safetensors before pickles.

    Where vectors are stored finer than matrices, all come in the finer type.

    Raises:
        ValueError: no weights there, a part missing, a damaged file, or a pickle that holds more than tensors.
    """
    path = find(*WEIGHTS)
    if path is None:
        raise ValueError(f"there are no weights: looked for {', '.join(WEIGHTS)}")
    if path.suffix != ".json":
        return _in_one_type(read_state(path))
    parts = read_json(path).get("weight_map")
    if not isinstance(parts, dict) or not parts:
        raise ValueError(f"{path} lists no parts: it has no weight_map")
    for key, name in parts.items():
        if not isinstance(name, str) or Path(name).suffix not in (".safetensors", ".bin"):
            raise ValueError(f"{path}: the part of {key!r} must be a .safetensors or .bin file, got {shown(name)}")
    state = {}
    for name in sorted(set(parts.values())):
        part = find(name) if Path(name).name == name else None  # never out of the folder
        if part is None:
            raise ValueError(f"the part {name!r} of the weights, which {path.name} names, is missing")
        tensors = read_state(part)
        if twice := sorted(state.keys() & tensors):
            raise ValueError(f"{path}: key {twice[0]!r} is in two of the parts, {name!r} and one before")
        state |= tensors
    return _in_one_type(state)


def _in_one_type(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    types = {value.dtype for value in state.values() if value.is_floating_point()}
    if len(types) < 2:
        return state
    widest = reduce(torch.promote_types, types)
    return {key: value.to(widest) if value.is_floating_point() else value for key, value in state.items()}


def read_state(path: Path) -> dict[str, torch.Tensor]:
    """The state dict in one file, .safetensors or a pickle of tensors.

    Raises:
        ValueError: a damaged file, or a pickle that holds more than tensors.
    """
    need_file(path, "checkpoint")
    if path.suffix == ".safetensors":
        return load_weights(path)[0]
    try:
        # Unpickles tensors and nothing else; the warnings speak of the file's protocol.
        with warnings.catch_warnings(action="ignore"):
            state = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ValueError(
            f"{path} is refused: it is damaged, or a pickle with more in it than tensors, which could run any code. "
            "Ask for the weights as model.safetensors"
        ) from error
    except Exception as error:  # a damaged file can end in nearly any error, depending on the place
        reason = str(error).split("\n")[0] or "it ends too early"
        raise ValueError(f"{path} is not a complete checkpoint: {reason}") from error
    with naming(f"{path} holds no state dict, a tensor for each name"):
        return checked(state)


@contextmanager
def out_of_reach(what: str, place: str | Path):
    """Any failure within becomes a `ValueError` that says what was looked for, in vain, and what can be done."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(SECONDS)  # torch.hub sets none and would wait for minutes
    try:
        yield
    except ValueError:
        raise
    except Exception as error:  # a download can fail in nearly any way, and each library has errors of its own
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{what} is not in the cache ({place}) and could not be downloaded, which needs a network: {reason[:200]}. "
            "Connect once and run this again, and it is kept; or name a local folder that the library has saved; or "
            "use a checkpoint that comes with the course: pretrained.load('shapes')"
        ) from error
    finally:
        socket.setdefaulttimeout(before)


def _download(repository: str, name: str) -> Path | None:
    from huggingface_hub import constants, errors, get_hf_file_metadata, hf_hub_download, hf_hub_url

    with out_of_reach(name, constants.HF_HUB_CACHE):
        try:
            # Asked once by itself: `hf_hub_download` alone asks for minutes where there is no network.
            found = get_hf_file_metadata(hf_hub_url(repository, name), timeout=SECONDS)
            path = Path(hf_hub_download(repository, name))
        except errors.GatedRepoError as error:
            raise ValueError("the model asks for an agreement first: see its page on the hub") from error
        except errors.RepositoryNotFoundError as error:
            raise ValueError(
                "the hub has no public model of this name, and there is no folder of this name either"
            ) from error
        except errors.EntryNotFoundError as error:
            if isinstance(error, errors.LocalEntryNotFoundError):  # the network went away in between
                raise ConnectionError(str(error)) from error
            return None
    # A large file's tag is its SHA-256.
    if re.fullmatch("[0-9a-f]{64}", found.etag or ""):
        with path.open("rb") as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
        if checksum != found.etag:
            path.resolve().unlink()
            raise ValueError(f"{name} arrived damaged (its SHA-256 is {checksum}, not {found.etag}): run this again")
    return path
