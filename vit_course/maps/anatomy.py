"""What a Vision Transformer of any library is made of: its layers, its tokens, its patches."""

import re
from functools import cached_property
from itertools import takewhile
from typing import Any

import torch
from torch import nn

from vit_course._support.inputs.rules import is_int
from vit_course.config import ViTConfig
from vit_course.maps.encoder_blocks import find_attention, find_blocks
from vit_course.maps.module_paths import holders, is_inside
from vit_course.maps.patch_geometry import PatchGeometry, find_geometry, pair
from vit_course.vit import ViT

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

LIBRARIES = ("timm", "transformers", "torchvision")


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
        self.keyword: str | None = None  # by which the model is given its images, if not by their place

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
        """The attention layers by path, as `find_attention` finds them."""
        return find_attention(self.paths)

    @cached_property
    def blocks(self) -> dict[str, nn.Module]:
        """The layers of the encoder by path, in order, as `find_blocks` finds them.

        Raises:
            ValueError: as `find_blocks`.
        """
        return find_blocks(self.model, list(self.attention), self.projection)

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

    def run(self, images: torch.Tensor) -> Any:
        """Runs the model on images (B, C, H, W), given as it was given them before, and returns its output."""
        return self.model(images) if self.keyword is None else self.model(**{self.keyword: images})

    def grid(self, image_size: tuple[int, int]) -> tuple[int, int] | None:
        """Returns (rows, columns) of the patches for an image of size (H, W), or None if they are not known."""
        found = self.geometry(image_size)
        return None if found is None else found.grid

    def geometry(self, image_size: tuple[int, int], grid: tuple[int, int] | None = None) -> PatchGeometry | None:
        """Where the patches of an image lie, as `find_geometry` finds it; None if the model does not say their number.

        Args:
            image_size: (H, W)
            grid: (rows, columns), if the caller knows it.
        """
        first = next(iter(self.attention.values()), None)
        stem = list(takewhile(lambda module: module is not first, self.paths))
        return find_geometry(list(self.paths), stem, image_size, grid)

    @cached_property
    def around(self) -> dict[str, nn.Module]:
        """The modules, by path and from the outermost in, that hold all layers and a convolution before them.

        Wrappers are among them, the two backbones of a model are not.
        """
        # Each layer without its number and what follows. An attention pooling has no number, and may stand outside.
        lists = [found[1][:-1] for path in self.attention if (found := re.match(r"(.*\.|)[^.]*\d\.", path))]
        inside = lists[0] if lists else ""
        while not all(is_inside(path, inside) for path in lists):
            inside = inside.rpartition(".")[0]
        convolutions = [path for path, module in self.model.named_modules() if isinstance(module, nn.Conv2d)]
        before = [path for path in convolutions if not is_inside(path, inside)] or convolutions
        while inside and before and not any(is_inside(path, inside) for path in before):
            inside = inside.rpartition(".")[0]
        return {path: self.model.get_submodule(path) for path in holders(inside)}

    @cached_property
    def inside(self) -> str:
        """The path of the model inside all wrappers: the outermost of a library, or else the innermost of `around`."""
        return next((path for path, module in self.around.items() if library_of(module)), list(self.around)[-1])

    @cached_property
    def projection(self) -> str | None:
        """The path of the first convolution of the model inside all wrappers, or None if it has none."""
        modules = self.around[self.inside].named_modules(prefix=self.inside)
        return next((path for path, module in modules if isinstance(module, nn.Conv2d)), None)

    @cached_property
    def stated_size(self) -> tuple[str, tuple[int, int] | None]:
        """The path of the module that states the size of its images, or of the one that holds it, and that (H, W)."""
        for path, module in self.around.items():
            if size := _size(module):
                return path, size
        model = self.around[self.inside]
        sizes = [size for part in model.modules() if (size := _size(part))]
        # In a library's model of several stages the first one counts; others may hold two backbones.
        known = library_of(model) is not None or len(set(sizes)) == 1
        return self.inside, sizes[0] if sizes and known else None

    @property
    def image_size(self) -> tuple[int, int] | None:
        """(H, W) of the images that the model, or the one inside a wrapper, was made for; `Wrapped` tests it."""
        return self.stated_size[1]

    @cached_property
    def channels(self) -> int:
        """The number of image channels: that of our config, else of `projection`; 3 if there is none."""
        if self.config is not None:
            return self.config.in_channels
        return 3 if self.projection is None else self.model.get_submodule(self.projection).in_channels

    def _parameters(self, pattern: str) -> dict[str, nn.Parameter]:
        # Matches the last part of a name. The query of a pooling head, after the last layer, is not a prefix token.
        return {
            path: parameter
            for path, parameter in self.model.named_parameters()
            if re.fullmatch(pattern, path.rpartition(".")[2]) and not re.search(r"head|pool|decoder", path)
        }


def own(module: nn.Module, name: str) -> Any:
    """Returns an attribute of the module itself, not one that a wrapper passes on from the model inside; else None."""
    try:
        return object.__getattribute__(module, name)
    except AttributeError:
        return None


def own_config(module: nn.Module) -> Any:
    """Returns the config of a module; None without, and for one that only shares that of a library's model inside."""
    config = own(module, "config")
    inside = (part for part in module.modules() if part is not module)
    shared = config is not None and library_of(module) is None and any(own(part, "config") is config for part in inside)
    return None if shared else config


def library_of(module: nn.Module) -> str | None:
    """Returns the library of a model's class, or of a class that it is derived from; "vit_course" for ours, or None."""
    if isinstance(module, ViT):
        return "vit_course"
    places = [kind.__module__ for kind in type(module).__mro__]
    return next((library for library in LIBRARIES if any(p.startswith(f"{library}.model") for p in places)), None)


def numbered(name: str, count: int) -> tuple[str, ...]:
    """("register", 2) -> ("register 1", "register 2")"""
    return tuple(f"{name} {number}" for number in range(1, count + 1))


def _size(module: nn.Module) -> tuple[int, int] | None:
    # The attributes in which the four code bases store it.
    config = getattr(own_config(module), "image_size", None)
    return pair(config) or pair(own(module, "image_size")) or pair(own(module, "img_size"))
