"""What a Vision Transformer of any library is made of: its layers, its tokens, its patches, its size, its classes."""

import re
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from torch import nn

from vit_course._support.inputs.rules import is_int
from vit_course.config import ViTConfig

# Patterns for the names of classes and attributes: of attention layers, and of helper layers that are not attention.
ATTENDS, HELPS = r"att(n|ention)|xca", r"output|norm|drop|mask|bias|embed|proj|softmax"
# Readable names of the tokens before the patches, and patterns for the names of their parameters, in the order of the
# sequence: DeiT's distillation token (arXiv:2012.12877) and the registers (arXiv:2309.16588) follow the class token.
PREFIX = (
    ("class token", r"cls_token|class_token|class_embedding|cls_embedding"),
    ("distillation token", r"dist_token|distillation_token"),
    ("register", r"reg_tokens?|register_tokens?|registers|storage_tokens"),
)
SUFFIX = r"det_tokens?|detection_tokens"
# Libraries whose models have that order. In other models only a lone class token is known to come first.
KNOWN = ("timm", "transformers", "torchvision", "dinov2", "dinov3")


class Anatomy:
    """Finds the parts of a model, ours or any other, from its modules and configs.

    Recording, interventions, effects and the explorer all use this class. Each property is computed when it is first
    used, and is None if the model does not tell.

    Args:
        model: any ViT, which may be wrapped, for example by `nn.DataParallel`.
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
        """The attention layers by path, recognised by their names, without modules that only contain such a layer."""
        found = {}
        for module, path in self.paths.items():
            names = [getattr(module, "original_name", type(module).__name__), path.rpartition(".")[2]]
            helps = any(re.search(HELPS, name, re.IGNORECASE) for name in names)
            if any(map(attends, names)) and not helps and not is_plain(module) and _has_matrices(module):
                found[path] = module
        holders = {path for path in found for other in found if other != path and is_inside(other, path)}
        return {path: module for path, module in found.items() if path not in holders}

    @cached_property
    def blocks(self) -> dict[str, nn.Module]:
        """The layers of the encoder by path, in order: the numbered modules that contain one attention layer each.

        A layer that is no module of its own, because its attention and its MLP stand in a list, or each in a list of
        its own, is a `nn.ModuleList` of its parts.

        Raises:
            ValueError: there are none; several parts of the model have such layers; or a layer has several attention
                modules, as where each head is one.
        """
        blocks = {}
        for path in self.attention:
            parts = path.split(".")
            starts = [".".join(parts[:end]) for end in range(1, len(parts) + 1) if parts[end - 1][-1:].isdigit()]
            # An attention pooling after the layers has no number, so it is left out.
            for start in starts:
                if sum(is_inside(other, start) for other in self.attention) == 1:
                    blocks[start] = self.model.get_submodule(start)
                    break
        parents = sorted({path.rpartition(".")[0] for path in blocks})
        if not blocks:
            raise ValueError(
                f"{self.name} has no numbered modules that each hold one attention, so nothing can be changed there"
            )
        if len(parents) > 1:
            for parent in parents:
                self._check_no_block(re.match(r"((.*?\.)?\d+)(\.|$)", parent))
            raise ValueError(f"attention runs in several parts of the model, {few(parents)}: change one of them")
        if not all(self._attends_alone(path, block) for path, block in blocks.items()):
            return blocks
        lists = self._lists_beside(parents[0], len(blocks))
        if any(_has_matrices(each) for each in lists if each is not self.model.get_submodule(parents[0])):
            return {path: nn.ModuleList(row) for path, row in zip(blocks, zip(*lists, strict=True), strict=True)}
        holder = re.match(r"(.*)\.", parents[0])
        if holder and any(map(attends, (type(self.model.get_submodule(holder[1])).__name__, holder[1].split(".")[-1]))):
            self._check_no_block(holder)
        return blocks

    @cached_property
    def prefix(self) -> tuple[str, ...] | None:
        """The names of the tokens in front of the patches, such as ("class token", "register 1")."""
        if (config := self.config) is not None:
            names = ("class token",) * (config.pool == "cls")
            if getattr(config, "reads", None) == "cls+register":  # DeiT's distillation token is a register in ours
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
        """The paths of the parameters whose names are those of tokens before the patches."""
        return [path for _, pattern in PREFIX for path in self._parameters(pattern)]

    @cached_property
    def suffix_tokens(self) -> list[str]:
        """The paths of the parameters whose names are those of tokens after the patches."""
        return list(self._parameters(SUFFIX))

    @property
    def shuffles(self) -> bool:
        """Whether the model is Hugging Face's MAE, which leaves patches out at random and shuffles the others."""
        return any(type(module).__name__ == "ViTMAEEmbeddings" for module in self.paths)

    def grid(self, image_size: tuple[int, int]) -> tuple[int, int] | None:
        """Returns (rows, columns) of the patches for an image of size (H, W), or None if they are not known."""
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
            # The attributes in which the four code bases store it.
            places = ((getattr(module, "config", None), "image_size"), (module, "image_size"), (module, "img_size"))
            for owner, name in places:
                if size := _pair(getattr(owner, name, None)):
                    return size
        return None

    @cached_property
    def channels(self) -> int:
        """The number of image channels: that of our config, else of the first convolution; 3 if there is none."""
        if self.config is not None:
            return self.config.in_channels
        return next((module.in_channels for module in self.paths if isinstance(module, nn.Conv2d)), 3)

    @cached_property
    def timm_config(self) -> Mapping[str, Any] | None:
        """timm's description of the images that the model was trained on."""
        for module in self.paths:
            config = getattr(module, "pretrained_cfg", None)
            if isinstance(config, Mapping) and config.get("mean") and config.get("std"):
                return config
        return None

    @cached_property
    def labels(self) -> list[str] | None:
        """The names of the classes.

        Raises:
            ValueError: an `id2label` in which a class is missing.
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
        # Only the first of several synonyms.
        return [name.split(",")[0] for name in ImageNetInfo(subset).label_descriptions()] if subset else None

    def _check_no_block(self, found: re.Match | None) -> None:
        # Raises if a path was found, of a module that holds several attention modules.
        if found:
            inside = [path for path in self.attention if is_inside(path, found[1])]
            raise ValueError(
                f"there are several attention modules in one block, {found[1]}: {few(inside)}; each may be a head, a "
                "branch or a layer, so that nothing can be changed there"
            )

    def _attends_alone(self, path: str, block: nn.Module) -> bool:
        # Whether a numbered module has no matrix outside its attention.
        return not isinstance(block, (nn.ModuleList, nn.ModuleDict)) and not any(
            parameter.ndim > 1 and not any(is_inside(f"{path}.{name}", of) for of in self.attention)
            for name, parameter in block.named_parameters()
        )

    def _lists_beside(self, parent: str, count: int) -> list[nn.ModuleList]:
        # The lists of `count` modules in the module that holds `parent`, which is one of them.
        beside = self.model.get_submodule(parent.rpartition(".")[0]).children()
        return [each for each in beside if isinstance(each, nn.ModuleList) and len(each) == count]

    def _parameters(self, pattern: str) -> dict[str, nn.Parameter]:
        # Matches the last part of a name. The query of a pooling head, after the last layer, is not a prefix token.
        return {
            path: parameter
            for path, parameter in self.model.named_parameters()
            if re.fullmatch(pattern, path.rpartition(".")[2]) and not re.search(r"head|pool|decoder", path)
        }


def attends(name: str) -> bool:
    """Whether the name of a class or an attribute is that of attention."""
    return re.search(ATTENDS, name, re.IGNORECASE) is not None


def parts_of(block: nn.Module) -> list[nn.Module]:
    """The modules that a layer of `Anatomy.blocks` is a list of; none, if the layer is a module that is called."""
    if not isinstance(block, (nn.ModuleList, nn.ModuleDict)):
        return []
    return [part for child in block.children() for part in parts_of(child) or [child]]


def is_plain(module: nn.Module) -> bool:
    """Whether a module is one of PyTorch's own layers, other than `nn.MultiheadAttention`."""
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, nn.MultiheadAttention)


def is_inside(path: str, of: str) -> bool:
    """Whether the module at `path` is the module at `of`, or a part of it."""
    return not of or f"{path}.".startswith(f"{of}.")


def numbered(name: str, count: int) -> tuple[str, ...]:
    """("register", 2) -> ("register 1", "register 2")"""
    return tuple(f"{name} {number}" for number in range(1, count + 1))


def few(paths: list[str]) -> str:
    """Joins the first three of many names, and adds how many more there are."""
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def _pair(size: object) -> tuple[int, int] | None:
    # 16 -> (16, 16)
    sides = (size, size) if is_int(size) else size
    if isinstance(sides, (tuple, list)) and len(sides) == 2 and all(is_int(side) and side > 0 for side in sides):
        return tuple(sides)
    return None


def _has_matrices(module: nn.Module) -> bool:
    return any(parameter.ndim > 1 for parameter in module.parameters())
