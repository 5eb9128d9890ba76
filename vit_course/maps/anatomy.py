"""What a Vision Transformer of any library is made of: its layers, its tokens, its patches, its size, its classes."""

import re
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from torch import nn

from vit_course._support.inputs.rules import is_int
from vit_course.config import ViTConfig

# By its class or its attribute a layer says that it attends; what only has to do with it says that too.
ATTENDS, HELPS = r"att(n|ention)|xca", r"output|norm|drop|mask|bias|embed|proj|softmax"
# What the libraries call the parameters that are tokens, and what a reader may call them. In this order they stand
# in the sequence: DeiT's (arXiv:2012.12877) and the registers (arXiv:2309.16588) follow the class token.
PREFIX = (
    ("class token", r"cls_token|class_token|class_embedding|cls_embedding"),
    ("distillation token", r"dist_token|distillation_token"),
    ("register", r"reg_tokens?|register_tokens?|registers|storage_tokens"),
)
SUFFIX = r"det_tokens?|detection_tokens"
# Their models put them in that order. Of others it is known that a lone class token comes first, and no more.
KNOWN = ("timm", "transformers", "torchvision", "dinov2", "dinov3")


class Anatomy:
    """What the modules and the configs of a model say of it: of ours, of a library's, of anybody's.

    Everything that looks into a model asks here: recording, interventions, effects and the explorer. A part is looked
    for when somebody asks for it. Where the model does not say it, it is None.

    Args:
        model: any ViT, also one that is wrapped, as by `nn.DataParallel`.
    """

    def __init__(self, model: nn.Module):
        self.model = model
        self.paths = {module: path for path, module in model.named_modules()}

    @property
    def name(self) -> str:
        """The class of the model, for messages."""
        return type(self.model).__name__

    @cached_property
    def config(self) -> ViTConfig | None:
        """The config, where the model is ours."""
        configs = (getattr(module, "config", None) for module in self.paths)
        return next((config for config in configs if isinstance(config, ViTConfig)), None)

    @cached_property
    def attention(self) -> dict[str, nn.Module]:
        """The layers that say of themselves that they attend, by path, without those that only hold such a layer."""
        found = {}
        for module, path in self.paths.items():
            names = [getattr(module, "original_name", type(module).__name__), path.rpartition(".")[2]]
            attends = any(re.search(ATTENDS, name, re.IGNORECASE) for name in names)
            helps = any(re.search(HELPS, name, re.IGNORECASE) for name in names)
            if attends and not helps and not is_plain(module) and any(p.ndim > 1 for p in module.parameters()):
                found[path] = module
        holders = {path for path in found for other in found if other != path and is_inside(other, path)}
        return {path: module for path, module in found.items() if path not in holders}

    @cached_property
    def blocks(self) -> dict[str, nn.Module]:
        """The layers of the encoder by path, in their order: the numbered modules that hold one attention each.

        Raises:
            ValueError: there are none, or those of several parts.
        """
        blocks = {}
        for path in self.attention:
            parts = path.split(".")
            starts = [".".join(parts[:end]) for end in range(1, len(parts) + 1) if parts[end - 1][-1:].isdigit()]
            # A pooling attention behind the layers has no number.
            for start in starts:
                if sum(is_inside(other, start) for other in self.attention) == 1:
                    blocks[start] = self.model.get_submodule(start)
                    break
        parents = sorted({path.rpartition(".")[0] for path in blocks})
        if len(parents) > 1:
            raise ValueError(f"attention runs in several parts of the model, {few(parents)}: change one of them")
        if not blocks or any(isinstance(block, (nn.ModuleList, nn.ModuleDict)) for block in blocks.values()):
            raise ValueError(
                f"{self.name} has no numbered modules that each hold one attention and are called as a layer, "
                "tokens (B, T, D) in and out, so that nothing can be changed there"
            )
        return blocks

    @cached_property
    def prefix(self) -> tuple[str, ...] | None:
        """The names of the tokens in front of the patches, such as ("class token", "register 1")."""
        if (config := self.config) is not None:
            names = ("class token",) * (config.pool == "cls")
            if getattr(config, "reads", None) == "cls+register":  # DeiT's, which is no other kind of token in ours
                names += ("distillation token",)
            return names + numbered("register", config.num_prefix - len(names))
        counts = []
        for _, pattern in PREFIX:
            sizes = {p.shape[-2] if p.ndim > 1 else 1 for p in self._parameters(pattern).values()} or {0}
            counts.append(sizes.pop() if len(sizes) == 1 else -1)
        one, distilled, registers = counts
        known = any(type(module).__module__.partition(".")[0] in KNOWN for module in self.paths)
        if min(counts) < 0 or max(one, distilled) > 1 or not (known or counts == [1, 0, 0]):
            return None
        names = ("class token",) * one + ("distillation token",) * distilled + numbered("register", registers)
        said = next((n for module in self.paths if is_int(n := getattr(module, "num_prefix_tokens", None))), len(names))
        return names if said == len(names) else None

    @cached_property
    def special_tokens(self) -> list[str]:
        """The paths of the parameters that are tokens of the prefix by their names."""
        return [path for _, pattern in PREFIX for path in self._parameters(pattern)]

    @cached_property
    def suffix_tokens(self) -> list[str]:
        """The paths of the parameters that are tokens behind the patches by their names."""
        return list(self._parameters(SUFFIX))

    @property
    def shuffles(self) -> bool:
        """Whether the model is MAE of Hugging Face, which leaves patches out at random and shuffles the others."""
        return any(type(module).__name__ == "ViTMAEEmbeddings" for module in self.paths)

    def grid(self, image_size: tuple[int, int]) -> tuple[int, int] | None:
        """-> (rows, columns) of the patches over an image of this size (H, W), or None."""
        for module in self.paths:
            if callable(ask := getattr(module, "dynamic_feat_size", None)):  # timm's: knows about padding and stems
                rows, columns = ask(tuple(image_size))
                return int(rows), int(columns)
            for owner in (module, getattr(module, "config", None)):
                if size := _pair(getattr(owner, "patch_size", None)):
                    rows, columns = image_size[0] // size[0], image_size[1] // size[1]
                    return (rows, columns) if rows and columns else None
        return None

    @cached_property
    def image_size(self) -> tuple[int, int] | None:
        """(H, W) of the images that the model was made for."""
        for module in self.paths:
            # Where the four code bases keep it.
            places = ((getattr(module, "config", None), "image_size"), (module, "image_size"), (module, "img_size"))
            for owner, name in places:
                if size := _pair(getattr(owner, name, None)):
                    return size
        return None

    @cached_property
    def channels(self) -> int:
        """How many channels an image has: as many as the projection of the patches takes; 3 where there is none."""
        if self.config is not None:
            return self.config.in_channels
        return next((module.in_channels for module in self.paths if isinstance(module, nn.Conv2d)), 3)

    @cached_property
    def timm_config(self) -> Mapping[str, Any] | None:
        """What a model of timm's says of the images that it was trained on."""
        for module in self.paths:
            config = getattr(module, "pretrained_cfg", None)
            if isinstance(config, Mapping) and config.get("mean") and config.get("std"):
                return config
        return None

    @cached_property
    def labels(self) -> list[str] | None:
        """The names of the classes.

        Raises:
            ValueError: an `id2label` that does not name class after class.
        """
        names = getattr(getattr(self.model, "config", None), "id2label", None)  # Hugging Face's
        if isinstance(names, dict) and names:
            by_number = {str(index): str(name) for index, name in names.items()}
            if absent := [index for index in range(len(names)) if str(index) not in by_number]:
                raise ValueError(f"id2label of {self.name} has no class {absent[0]}: give labels=")
            ordered = [by_number[str(index)] for index in range(len(names))]
            return None if ordered[0] == "LABEL_0" else ordered
        config = getattr(self.model, "pretrained_cfg", None)
        if not isinstance(config, Mapping) or "timm" not in sys.modules:
            return None
        if config.get("label_names"):
            return list(config["label_names"])
        from timm.data import ImageNetInfo, infer_imagenet_subset

        subset = infer_imagenet_subset(self.model) if getattr(self.model, "num_classes", 0) else None
        # Of several names of a thing the first.
        return [name.split(",")[0] for name in ImageNetInfo(subset).label_descriptions()] if subset else None

    def _parameters(self, pattern: str) -> dict[str, nn.Parameter]:
        # By the ends of their names. What a head asks the patches with, after the last layer, is no token of theirs.
        return {
            path: parameter
            for path, parameter in self.model.named_parameters()
            if re.fullmatch(pattern, path.rpartition(".")[2]) and not re.search(r"head|pool|decoder", path)
        }


def is_plain(module: nn.Module) -> bool:
    """Whether it is one of PyTorch's own layers, but no attention."""
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, nn.MultiheadAttention)


def is_inside(path: str, of: str) -> bool:
    """Whether the module at a path is the other one or a part of it."""
    return not of or f"{path}.".startswith(f"{of}.")


def numbered(name: str, count: int) -> tuple[str, ...]:
    """("register", 2) -> ("register 1", "register 2")"""
    return tuple(f"{name} {number}" for number in range(1, count + 1))


def few(paths: list[str]) -> str:
    """-> the first three of many names, and how many more there are."""
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def _pair(size: object) -> tuple[int, int] | None:
    # 16 -> (16, 16)
    sides = (size, size) if is_int(size) else size
    if isinstance(sides, (tuple, list)) and len(sides) == 2 and all(is_int(side) and side > 0 for side in sides):
        return tuple(sides)
    return None
