"""The two models of the live page: their files, and their description for the browser."""

import json
from collections.abc import Callable
from pathlib import Path

from vit_course._support.files.course_files import need_as_shipped, stored

# For each model its files of weights: from the name on the page to the path among the course's files.
MODELS = {
    "tiny-cifar": {"tiny-cifar.safetensors": "tiny-cifar/best.safetensors"},
    "vit-s14": {
        "vit-s14.safetensors": "vit-s14/model.safetensors",
        "vit-s14-cifar10.safetensors": "vit-s14-cifar10/head.safetensors",
    },
}
# Each model is computed by three ONNX graphs, one for each of its parts.
PARTS = ("embed", "block", "head")
FLOATS = "vit-s14-block-float32.onnx"  # for graphics cards: tiny-cifar's block has single-precision weights already
LICENCES = ("vit-s14/LICENSE-MIT.txt", "vit-s14/LICENSE-APACHE.txt")
PATCH = 14
SIZES = (224, 336, 448)  # pixels
HEAD = "a linear head on the ten classes of CIFAR-10, fitted to pictures of 98 pixels"


def describe(name: str, live: Path, copy: Callable[[Path, str], dict]) -> dict:
    """Copies the files of a model and describes it for the page, as JSON.

    Args:
        name: one of `MODELS`.
        live: the folder of the graphs.
        copy: copies a file into the folder of the page under a name; returns its path there, its size and its checksum.

    Returns:
        its files; its numbers of layers and heads, and the prefix of the names of a layer's weights; the sizes of
        pictures that it takes, and how these are resized and normalised; its classes.

    Raises:
        ValueError: a file of the model is missing or damaged.
    """
    graphs = {part: live / f"{name}-{part}.onnx" for part in PARTS}
    more = {"floats": live / FLOATS} if name == "vit-s14" else {}
    for path in (*graphs.values(), *more.values(), *map(stored, MODELS[name].values())):
        need_as_shipped(path)
    files = {
        "graphs": {part: copy(path, path.name) for part, path in graphs.items()},
        "weights": [copy(stored(place), own) for own, place in MODELS[name].items()],
        **{key: copy(path, path.name) for key, path in more.items()},
    }
    for place in LICENCES if name == "vit-s14" else ():
        copy(stored(place), Path(place).name)
    return files | (_tiny_cifar() if name == "tiny-cifar" else _vit_s14())


def _vit_s14() -> dict:
    config = _json("vit-s14/config.json")
    taken, head = _json("vit-s14/preprocessor_config.json"), _json("vit-s14-cifar10/head.json")
    return {
        "about": "ViT-S/14",
        "layers": config["num_hidden_layers"],
        "heads": config["num_attention_heads"],
        "block": "encoder.layer.",
        "way": "crop",
        "exact": False,
        "sizes": list(SIZES),
        "mean": taken["image_mean"],
        "std": taken["image_std"],
        "labels": head["class_names"],
        "none": head["none_below"],
        "head": HEAD,
    }


def _tiny_cifar() -> dict:
    content = _json("tiny-cifar/config.json")
    images, model = content["images"], content["model"]
    return {
        "about": "The small model",
        "layers": model["num_layers"],
        "heads": model["num_heads"],
        "block": "encoder.blocks.",
        "way": "fit",
        "exact": True,  # show the model's own pixels, as 32 are so few
        "sizes": model["image_size"][:1],
        "mean": images["mean"],
        "std": images["std"],
        "labels": None,  # its ten words would mislead for a photograph of anything, at 32 pixels
    }


def _json(place: str) -> dict:
    return json.loads(stored(place).read_text(encoding="utf-8"))
