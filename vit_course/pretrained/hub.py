"""Published models by their names: the weights in our ViT, the preprocessing and the names of the classes."""

import re
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import nn

from vit_course._support.files.records import naming, need_path, read_json
from vit_course._support.files.validated import check_names
from vit_course._support.inputs.arguments import MOST_CLASSES, check_arguments
from vit_course._support.inputs.extras import extra
from vit_course._support.inputs.rules import whole
from vit_course._support.inputs.tensors import finite
from vit_course.data.pictures import Picture
from vit_course.pretrained.configs import from_huggingface, from_timm, rebuilt
from vit_course.pretrained.convert import load_torchvision, resize
from vit_course.pretrained.download import Find, in_folder, in_repository, out_of_reach, read_state
from vit_course.pretrained.preprocessing import Preprocessing
from vit_course.vit import ViT

COUNT = whole(1, MOST_CLASSES)
# Their processors crop smaller than the images whose positions are stored, and the models interpolate by themselves.
ANY_SIZE = ("dinov2", "dinov2_with_registers")


class Preprocess(Protocol):
    """A picture -> (1, C, H, W) as a model takes it; `Preprocessing` and `AsTrained` are two.

    `image_size` is (H, W) of what comes out, or None where that depends on the picture; `mean` and `std` are those of
    the channels, on the scale 0 to 1.
    """

    @property
    def image_size(self) -> tuple[int, int] | None: ...

    @property
    def mean(self) -> tuple[float, ...]: ...

    @property
    def std(self) -> tuple[float, ...]: ...

    def __call__(self, picture: Picture, /) -> torch.Tensor: ...


class Pretrained(NamedTuple):
    """A published model and what is needed to use it: `model, preprocess, class_names = from_pretrained(...)`.

    `model` is our `ViT` in eval mode, `preprocess` takes a path or a PIL image to its input (1, C, H, W), and
    `class_names[i]` is what logit i stands for; a model without a head, or with CLIP's projection as its head, has
    none. If the weights bring no names for ImageNet, torchvision's are used; without torchvision they are "class 0",
    "class 1" ...
    """

    model: ViT
    preprocess: Preprocess
    class_names: list[str]

    def top(self, image: Picture, count: int = 5) -> list[tuple[str, float]]:
        """The most probable classes of a picture, a path or a PIL image, with their probabilities.

        Raises:
            ValueError: a count below 1, a picture that cannot be read, or a model that gives no classes, or NaN.
        """
        COUNT("count", count)
        with torch.no_grad():
            images = self.preprocess(image).to(self.model.patch_embedding.projection.weight)  # (1, C, H, W)
            logits = finite("logits", self.model(images))[0]  # (num_classes)
        if not self.class_names:
            raise ValueError(f"the model gives {len(logits)} numbers of an embedding, and no classes to choose from")
        best = logits.softmax(dim=0).topk(min(count, len(logits)))
        return [(self.class_names[i], p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)]

    def __repr__(self) -> str:
        return f"Pretrained({self.model.config}, {self.preprocess}, {len(self.class_names)} class names)"


def none_fits(model: nn.Module, logits: torch.Tensor) -> str | None:
    """(1, K) logits of a model -> a sentence where none of its K words fits, "" where one may.

    None if this was never measured: a head states it as `none_below`, a score and how often the rule errs.

    Source: the score is the negative energy of Liu et al. 2020, "Energy-based Out-of-distribution Detection"
    (arXiv:2010.03759).
    """
    rule = getattr(getattr(model, "head", None), "none_below", None)
    if rule is None:
        return None
    score = logits.logsumexp(dim=1).item()
    if score >= rule["score"]:
        return ""
    found = f"the score of its logits, {score:.1f}, is below {rule['score']} ({rule['errors']})"
    return f"None of its {logits.shape[1]} words fits: {found}."


def from_pretrained(
    name: str | Path, num_classes: int | None = None, image_size: int | tuple[int, int] | None = None
) -> Pretrained:
    """A published Vision Transformer by its name, as our `ViT`, with its preprocessing and its class names.

    The first time, the weights are downloaded by the library that owns them, into its cache, with a bar and a
    checksum; afterwards no network is needed. Safetensors are preferred, and nothing is ever unpickled without
    restrictions.

    Args:
        name: of Hugging Face ("google/vit-base-patch16-224"), timm ("vit_base_patch16_224.augreg2_in21k_ft_in1k"),
            torchvision ("vit_b_16", or "vit_b_16.IMAGENET1K_SWAG_E2E_V1"), or a local folder that transformers or timm
            has saved.
        num_classes: if the model has no head, or one for another number of classes, it gets a fresh one for this many,
            to be trained; 0 takes the head off. Without it, weights that come without a head give a model whose
            `features` work.
        image_size: of the images that it is to take; positions are interpolated. By default as its preprocessing says.

    Raises:
        ValueError: an unknown name, no network, a file that is missing, damaged or holds more than weights, or a model
            of another architecture.
    """
    if num_classes is not None:
        check_arguments(num_classes=num_classes)
    folder, name = need_path(name), str(name)
    if folder.is_dir():
        return from_files(in_folder(folder), name, num_classes, image_size)
    entry = _torchvision_entry(name)
    if entry is not None:
        return _from_torchvision(entry, num_classes, image_size)
    if re.fullmatch(r"(vit|deit)\w*_patch\d+\w*", name):
        raise ValueError(f"timm's name {name!r} needs the tag of its weights, as in {name}.augreg_in21k_ft_in1k")
    if re.fullmatch(r"(vit|deit)\w*_patch\d+\w*\.\w+", name):
        name = f"timm/{name}"
    if not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name):
        raise ValueError(
            f"there is no folder {name!r}, and it is not the name of published weights, such as 'vit_b_16', "
            "'vit_base_patch16_224.augreg2_in21k_ft_in1k' or 'google/vit-base-patch16-224'; "
            "pretrained.load takes the checkpoints of the course and your own"
        )
    return from_files(in_repository(name), name, num_classes, image_size)


def from_files(
    find: Find, place: str, num_classes: int | None = None, image_size: int | tuple[int, int] | None = None
) -> Pretrained:
    """As `from_pretrained`, of the files that `find` finds; errors begin with `place`."""
    with naming(place):
        path = find("config.json")
        if path is None:
            raise ValueError("there is no config.json, which says what kind of model it is")
        config = read_json(path)
        read = from_timm if "architecture" in config else from_huggingface
        any_size = config.get("model_type") in ANY_SIZE
        return _together(*read(config, find), num_classes, image_size, any_size)


def _torchvision_entry(name: str) -> Any:
    if "/" in name:
        return None
    model, _, variant = name.partition(".")
    model = model.lower().removesuffix("_weights")
    try:
        from torchvision import models
    except ModuleNotFoundError:
        if not re.fullmatch(r"vit_[a-z]_\d+", model):
            return None
        with extra("course", f"torchvision's {model}"):
            raise
    if model not in models.list_models():
        return None
    if not model.startswith("vit_"):
        raise ValueError(
            f"torchvision's {model} is not a plain Vision Transformer; those are vit_b_16 and its siblings"
        )
    entries = models.get_model_weights(model)
    if variant and variant not in entries.__members__:
        raise ValueError(f"torchvision's {model} has no weights {variant!r}, only {', '.join(entries.__members__)}")
    return entries[variant or "DEFAULT"]


def _from_torchvision(entry: Any, num_classes: int | None, image_size: int | tuple[int, int] | None) -> Pretrained:
    with naming(str(entry)):
        cached = Path(torch.hub.get_dir()) / "checkpoints" / Path(entry.url).name
        if cached.is_file():
            state = read_state(cached)
        else:
            with out_of_reach(cached.name, cached.parent):
                state = entry.get_state_dict(progress=True, check_hash=True, weights_only=True, map_location="cpu")
        names = list(entry.meta["categories"])
        preprocess = Preprocessing.from_torchvision(entry)
        return _together(load_torchvision(state), preprocess, names, num_classes, image_size)


def _together(
    model: ViT,
    preprocess: Preprocessing,
    names: list[str] | None,
    num_classes: int | None,
    image_size: int | tuple[int, int] | None,
    any_size: bool = False,
) -> Pretrained:
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
    if num_classes not in (None, model.config.num_classes):
        model, names = rebuilt(model, num_classes=num_classes), []
    if names is None:
        return Pretrained(model, preprocess, [])
    return Pretrained(model, preprocess, names or [f"class {i}" for i in range(model.config.num_classes)])
