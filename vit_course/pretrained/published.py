"""Published models, loaded through their libraries, which download, cache and verify the files."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies

import numpy as np
import torch
from PIL import Image

from vit_course._support.files.check_tensors import check_names
from vit_course._support.files.json_files import naming, need_path, read_json
from vit_course._support.inputs.class_names import names_by_number, names_of_timm
from vit_course._support.inputs.extras import MissingPackage, extra
from vit_course._support.inputs.rules import shown
from vit_course.pretrained.convert import convert_huggingface, load_timm, load_torchvision, resize
from vit_course.pretrained.hyperparameters import STILL_RECORDED, of_huggingface, of_huggingface_config, of_timm
from vit_course.pretrained.preprocessing import Preprocessing
from vit_course.pretrained.pretrained_model import Pretrained
from vit_course.vit import ViT

NAMED = "timm:NAME, hf:NAME or torchvision:NAME"
TITLES = {"timm": "timm", "hf": "Hugging Face", "torchvision": "torchvision"}
ADAPTER = "adapter_config.json"
# Where the names of a library are listed.
LISTED = {
    "timm": "timm.list_models(pretrained=True) lists its names",
    "hf": "its names are those of huggingface.co/models",
    "torchvision": "torchvision.models.list_models(include='vit_*') lists its names",
}
EMBEDDINGS = (512, 640, 768, 896, 1024, 1280)  # the output widths of the projections of timm's CLIP models
SECONDS = 2  # to wait for a server
# Parts of Hugging Face's models that the weights may lack; they are then left out.
MAY_BE_MISSING = ("pooler.", "classifier.", "mask_token", "decoder")
# Their processors give smaller images than the position table was made for, and the models interpolate it themselves.
ANY_SIZE = ("dinov2", "dinov2_with_registers")


class Loaded(NamedTuple):
    """A loaded model: `class_names` is None if its head does not give classes, [] if the classes have no names."""

    model: ViT
    preprocess: Preprocessing
    class_names: list[str] | None
    any_size: bool = False


def library_of_name(name: str | Path) -> tuple[str, str] | None:
    """Returns the library that loads a model and the model's name there, or None if none does.

    Args:
        name: as "timm:NAME", "hf:NAME" and "torchvision:NAME", or a folder saved by timm or transformers.

    Raises:
        ValueError: a folder whose config.json cannot be read, or that holds an adapter.
    """
    library, colon, rest = str(name).partition(":")
    named = bool(colon) and library in LOADERS
    _check_no_adapter(Path(rest) if named else need_path(name))
    if named:
        return library, rest
    config = need_path(name) / "config.json"
    content = read_json(config) if config.is_file() else {}
    if "architecture" in content:
        return "timm", f"local-dir:{name}"
    return ("hf", str(name)) if "model_type" in content else None


def _check_no_adapter(folder: Path) -> None:
    # PEFT saves adapters without the model that they change.
    if (folder / ADAPTER).is_file():
        of = read_json(folder / ADAPTER).get("base_model_name_or_path")
        raise ValueError(
            f"{folder} holds an adapter without the model that it changes" + f", {shown(of)}" * (of is not None) + ": "
            f"add it to that model and merge both, with PEFT by PeftModel.from_pretrained(model, {str(folder)!r})"
            ".merge_and_unload(), save what this returns, and the processor, into a folder by save_pretrained, and "
            "give that folder"
        )


def load_published(name: str | Path, image_size: int | tuple[int, int] | None = None) -> Pretrained:
    """A published Vision Transformer as our `ViT`, with its preprocessing and its class names.

    Args:
        name: as `library_of_name` takes it.
        image_size: of the input images; positions are interpolated. By default, that of its preprocessing.

    Raises:
        MissingPackage: the library is not installed; the message says what to run.
        ValueError: an unknown name, no network, a damaged file, or a model that is not a plain ViT.
    """
    library, rest = library_of_name(name) or ("", "")
    if not rest:
        raise ValueError(f"{str(name)!r} is neither a published name, {NAMED}, nor a folder saved by a library")
    with naming(str(name)):
        return _together(LOADERS[library](rest), image_size)


def _from_timm(name: str) -> Loaded:
    with extra("pretrained", "a model of timm"):
        import timm
    with _asking("timm"), torch.device("meta"):
        skeleton = timm.create_model(name)
    of_timm(skeleton)  # what cannot be loaded is refused before its weights are downloaded
    with _asking("timm"):
        model = timm.create_model(name, pretrained=True).eval()
        config = timm.data.resolve_model_data_config(model)
        transform = timm.data.create_transform(**config)
    preprocess = Preprocessing.from_timm(config)
    _check_same(preprocess, lambda picture: transform(picture)[None])
    return Loaded(load_timm(model), preprocess, _names_of_timm(model))


def _names_of_timm(model: Any) -> list[str] | None:
    if names := names_of_timm(model):
        return names
    is_projection = "_clip_" in model.pretrained_cfg["architecture"] and model.num_classes in EMBEDDINGS
    return None if is_projection else []


def _from_huggingface(name: str) -> Loaded:
    with extra("pretrained", "a model of Hugging Face"):
        import transformers
        from transformers.image_processing_backends import TorchvisionBackend
    with _asking("hf"):
        config = transformers.AutoConfig.from_pretrained(name)
    kind = (config.architectures or ["model of an unnamed class"])[0]
    of_huggingface_config(config, kind)  # what cannot be loaded is refused before its weights are downloaded
    with _asking("hf", "preprocessor_config.json, which says how it takes a picture"):
        processor = transformers.AutoImageProcessor.from_pretrained(name)
    with _asking("hf"):
        model, found = getattr(transformers, kind).from_pretrained(
            name, dtype=torch.float32, output_loading_info=True, ignore_mismatched_sizes=True
        )
    for key in sorted(found["unexpected_keys"]):
        raise ValueError(f"the weights have {key!r}, which a {kind} with this config.json does not have")
    for key, theirs, ours in sorted(found["mismatched_keys"]):
        raise ValueError(
            f"the weights have {key!r} of shape {tuple(theirs)}, but a {kind} with this config.json needs {tuple(ours)}"
        )
    for key in sorted(found["missing_keys"]):
        if not any(part in key for part in MAY_BE_MISSING):
            raise ValueError(f"the weights lack {key!r}, which a {kind} with this config.json needs")
    # transformers has filled missing keys with random numbers.
    state = {key: value for key, value in model.state_dict().items() if key not in found["missing_keys"]}
    preprocess = Preprocessing.from_huggingface(processor.to_dict(), isinstance(processor, TorchvisionBackend))
    _check_same(preprocess, lambda picture: processor(picture, return_tensors="pt")["pixel_values"])
    ours = convert_huggingface(state, of_huggingface(model))
    labels = names_by_number(config.id2label, kind) if "Classification" in kind else None
    return Loaded(ours, preprocess, labels, config.model_type in ANY_SIZE)


def _from_torchvision(name: str) -> Loaded:
    with extra("pretrained", "a model of torchvision"):
        from torchvision import models
    model_name, _, variant = name.partition(".")
    with _asking("torchvision"):
        entries = models.get_model_weights(model_name)
    if not model_name.startswith("vit_"):
        raise ValueError(
            f"this is not a plain Vision Transformer; torchvision's are vit_b_16 and its siblings; {STILL_RECORDED}"
        )
    if variant and variant not in entries.__members__:
        raise ValueError(f"{model_name} has no weights {variant!r}, only {', '.join(entries.__members__)}")
    entry = entries[variant or "DEFAULT"]
    with _asking("torchvision"):
        state = entry.get_state_dict(progress=True, check_hash=True, weights_only=True, map_location="cpu")
        with torch.device("meta"):
            model = models.get_model(model_name, image_size=entry.meta["min_size"][0])
        model.load_state_dict(state, assign=True)
    preprocess = Preprocessing.from_torchvision(entry)
    transform = entry.transforms()
    _check_same(preprocess, lambda picture: transform(picture)[None])
    return Loaded(load_torchvision(model), preprocess, list(entry.meta["categories"]))


LOADERS: dict[str, Callable[[str], Loaded]] = {
    "timm": _from_timm,
    "hf": _from_huggingface,
    "torchvision": _from_torchvision,
}


@contextmanager
def _asking(library: str, what: str = "it") -> Iterator[None]:
    # A library may raise any error, with a message of many lines: turned into a sentence that says what can be done.
    try:
        with _cache_alone_offline() if library != "torchvision" else nullcontext():
            yield
    except (MemoryError, MissingPackage):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{TITLES[library]} cannot load {what}: {reason[:300].rstrip('.')} (the first time needs a network; "
            f"{LISTED[library]}; vit-s14 comes with the course)"
        ) from error


@contextmanager
def _cache_alone_offline() -> Iterator[None]:
    # Where its server cannot be reached, huggingface_hub would try five times, for 50 seconds: it reads its cache only.
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not _reaches(constants.ENDPOINT)
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _reaches(server: str) -> bool:
    # Whether a server can be reached; through a proxy, that is left to the library.
    if getproxies():
        return True
    try:
        socket.create_connection((urlsplit(server).hostname, urlsplit(server).port or 443), timeout=SECONDS).close()
    except OSError:
        return False
    return True


def _check_same(ours: Preprocessing, theirs: Callable[[Image.Image], torch.Tensor]) -> None:
    # A library may do more than resize, crop and normalise: both results for one picture show whether this one does.
    noise = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    picture = Image.fromarray(noise).resize((400, 300)).convert("RGB" if len(ours.mean) == 3 else "L")
    found, expected = ours(picture), theirs(picture)
    steps = 255 * torch.tensor(ours.std)[:, None, None]  # from normalised values to steps of 1 in 255
    if found.shape != expected.shape or ((found - expected) * steps).abs().max() > 2:
        raise ValueError(
            "its preprocessing does more than resize a picture, crop it at the centre and normalise it: load only "
            "the model, by load_timm or load_huggingface, and prepare pictures as the library does"
        )


def _together(loaded: Loaded, image_size: int | tuple[int, int] | None) -> Pretrained:
    model, preprocess, names, any_size = loaded
    if image_size is not None:
        preprocess = preprocess.at(image_size)
    given = preprocess.image_size
    if given is not None and (image_size is not None or any_size):
        model = resize(model, given)
    needed = model.config.height_width
    if given != needed or len(preprocess.mean) != model.config.in_channels:
        raise ValueError(
            f"the preprocessing gives images (C, H, W) = {(len(preprocess.mean), *(given or 'HW'))}, "
            f"but the model takes {(model.config.in_channels, *needed)}"
        )
    if names:
        check_names(names, model.config.num_classes)
    if names == []:
        names = [f"class {i}" for i in range(model.config.num_classes)]
    return Pretrained(model, preprocess, names or [])
