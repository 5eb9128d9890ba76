"""Loads the models that come with the course, those of a learner's own runs, and published ones."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from vit_course._support.files.check_tensors import check_names, check_shapes
from vit_course._support.files.course_files import course
from vit_course._support.files.json_files import naming, need_object, need_path, read_json
from vit_course._support.files.weights import load_weights
from vit_course._support.inputs.arguments import check_statistics
from vit_course.data.pictures import Picture, normalise, open_image
from vit_course.pretrained.convert import load_huggingface, resize
from vit_course.pretrained.factory import build, config_of
from vit_course.pretrained.libraries import OURS
from vit_course.pretrained.preprocessing import Preprocessing
from vit_course.pretrained.pretrained_model import Pretrained
from vit_course.pretrained.probing import with_head
from vit_course.pretrained.published import NAMED, library_of_name, load_published
from vit_course.pretrained.state_dicts import check_no_adapter, whose_names
from vit_course.vit import ViT

# The file that shows what a folder holds: a training run, a published ViT that is shipped, or a linear head for one.
RUN, PUBLISHED, HEAD = "best.safetensors", "model.safetensors", "head.safetensors"

WANTED = (
    f"give the folder of a run or its {RUN}, or a folder with a config.json, saved by timm or transformers. "
    "If you have only a file of weights, load it into its model by load_state_dict, and save that by "
    "model.save_pretrained(folder) of transformers or timm.models.save_for_hf(model, folder); or convert it by "
    "pretrained.load_timm or a similar function"
)

Size = int | tuple[int, int] | None


def load(name: str | Path, image_size: Size = None) -> ViT:
    """A trained `ViT`, in eval mode: a shipped one ("vit-s14", "shapes"), one of yours, or a published one.

    Args:
        name: "vit-s14" is a ViT-S/14 of 21.6 million parameters without a head, for its `features`;
            "vit-s14-cifar10" has a linear head for ten classes. The course trained the others,
            "mae-cifar" and "dino-cifar" without labels, "clip-scenes" with captions. Or the path of a run's folder or
            of its best.safetensors; or what a library publishes, "timm:NAME", "hf:NAME" or "torchvision:NAME"; or a
            folder saved by timm or transformers.
        image_size: of the input images; positions are interpolated. By default the size it was made for.

    Raises:
        ValueError: no such checkpoint (the shipped ones are listed), a damaged one, one that is not a ViT's, a size
            that the patches do not divide, or a published one that the library cannot load, or that is not a plain ViT.
        MissingPackage: the library is not installed; the message says what to run.
    """
    if _is_published(name):
        return load_published(name, image_size).model
    path = find(name)
    if path.is_dir():
        return _shipped(path, image_size).model
    state, metadata = load_weights(path)
    with naming(path):
        if "config" not in metadata:
            check_no_adapter(state)
            if library_of_name(path.parent) is not None:
                raise ValueError(f"its config.json is in the same folder: give the folder, {path.parent}")
            hint = whose_names(OURS, state)
            raise ValueError(f"it holds no ViTConfig, so it is not a checkpoint of a vit_course ViT{hint}: {WANTED}")
        model = build(config_of(metadata["config"]), state)
    return model if image_size is None else resize(model, image_size)


@dataclass(frozen=True)
class AsTrained:
    """A picture -> (1, C, H, W) as the course's models were trained: resized to cover, cropped, normalised.

    Call it with what `pictures.open_picture` takes, such as a path or a PIL image. It is made grey where `mean` has one
    value.

    Args:
        image_size: (H, W).
        mean: of the training images, for each channel, on the scale 0 to 1.
        std: likewise.

    Raises:
        ValueError: a mean or std that is not valid for the channels of images.
    """

    image_size: tuple[int, int]
    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        check_statistics(self.mean, self.std)

    def __call__(self, picture: Picture) -> torch.Tensor:
        image = open_image(picture, self.image_size)  # (3, H, W)
        if len(self.mean) == 1:
            image = image.float().mean(dim=0, keepdim=True).round()  # (1, H, W)
        return self.normalise(image[None])

    def normalise(self, images: torch.Tensor) -> torch.Tensor:
        """(B, C, H, W) of 0 to 255 -> (B, C, H, W) float32, as `Dataset.normalise` of the training set."""
        return normalise(images, self.mean, self.std)


def load_run(name: str | Path, image_size: Size = None) -> Pretrained:
    """A trained `ViT` with its preprocessing and class names: `load_run("vit-s14-cifar10").top("cat.jpg")`.

    Args:
        name: as for `load`. Of one of your runs, config.json next to its best.safetensors says how its images were
            normalised and what its classes are; for a published model, its library does.
        image_size: as for `load`.

    Raises:
        ValueError: as `load`; or a config.json that is missing, says too little, or belongs to another model.
    """
    if _is_published(name):
        return load_published(name, image_size)
    path = find(name)
    if path.is_dir():
        return _shipped(path, image_size)
    model = load(path)
    place = path.with_name("config.json")
    content = read_json(place) if place.exists() else {}
    if "images" not in content:
        raise ValueError(f"there is no {place} that says what {str(name)!r} was trained on")
    with naming(place):
        if "model" in content and config_of(content["model"]) != model.config:
            raise ValueError(f"its model differs from that of {path.name}, which has {model.config}")
        images = need_object("images", content["images"])
        for part in ("mean", "std", "class_names"):
            if part not in images:
                raise ValueError(f"images has no {part!r}, which is needed to show the model a picture")
        # A model trained without labels has no head, even if its images have classes.
        class_names = images["class_names"] if model.config.num_classes else []
        check_names(class_names, model.config.num_classes)
        check_statistics(images["mean"], images["std"])
        if len(images["mean"]) != model.config.in_channels:
            raise ValueError(
                f"mean has {len(images['mean'])} values, but the model has {model.config.in_channels} channels and "
                "needs one for each"
            )
    model = model if image_size is None else resize(model, image_size)
    preprocess = AsTrained(model.config.height_width, tuple(images["mean"]), tuple(images["std"]))
    return Pretrained(model, preprocess, class_names)


def names() -> dict[str, Path]:
    """Returns the paths of the shipped checkpoints by name: the weights of a run, or the folder of another kind."""
    folder = course() / "res"
    published = [path.parent for kind in (PUBLISHED, HEAD) for path in sorted(folder.glob(f"*/{kind}"))]
    runs = sorted(folder.glob(f"*/{RUN}"))
    return {path.name: path for path in published} | {path.parent.name: path for path in runs}


def find(name: str | Path) -> Path:
    """Returns the path of the shipped checkpoint of that name, or of the one at that path.

    Raises:
        ValueError: there is none.
    """
    path = need_path(name)
    if path.is_dir() and (path / RUN).exists():
        return path / RUN
    shipped = names()
    if str(name) in shipped:
        return shipped[str(name)]
    if not path.exists():
        raise ValueError(
            f"there is no checkpoint {str(name)!r}; the shipped ones are {', '.join(map(repr, shipped)) or 'none'}, "
            f"and a published one is named with its library: {NAMED}"
        )
    if path.is_dir():
        raise ValueError(
            f"{path} is a folder without {RUN}, which a training writes there, and without a config.json of timm or "
            "transformers"
        )
    if path.is_file() and path.suffix != ".safetensors" and not _is_safetensors(path):
        raise ValueError(
            f"{path} is not a safetensors file, and files of other kinds are not opened because they may run code: "
            f"{WANTED}"
        )
    return path


def _is_safetensors(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(9)[8:] == b"{"  # after the length of the header


def _is_published(name: str | Path) -> bool:
    path = need_path(name)
    return str(name) not in names() and not (path / RUN).is_file() and library_of_name(name) is not None


def _shipped(folder: Path, image_size: Size) -> Pretrained:
    # A published ViT with Hugging Face's names, or such a ViT with a linear head.
    content = read_json(folder / "head.json") if (folder / HEAD).exists() else None
    backbone = names()[content["backbone"]] if content else folder
    preprocess = Preprocessing.from_huggingface(read_json(folder / "preprocessor_config.json"))
    if image_size is not None:
        preprocess = preprocess.at(image_size)
    model, class_names = _backbone(backbone), []
    model = resize(model, preprocess.image_size or model.config.height_width)
    if content:
        state, _ = load_weights(folder / HEAD)
        class_names = content["class_names"]
        head = nn.Linear(model.config.hidden_dim, len(class_names))
        with naming(folder / HEAD):
            check_shapes(state, {key: value.shape for key, value in head.state_dict().items()})
        head.load_state_dict(state)
        model = with_head(model, head)
        object.__setattr__(model.head, "none_below", content.get("none_below"))  # `none_fits` reads it
    return Pretrained(model, preprocess, class_names)


def _backbone(folder: Path) -> ViT:
    # The matrices are stored in half precision; what was read is freed before the model is resized, which copies it.
    state, _ = load_weights(folder / PUBLISHED)
    heads = read_json(folder / "config.json")["num_attention_heads"]
    return load_huggingface({key: value.float() for key, value in state.items()}, num_heads=heads)
