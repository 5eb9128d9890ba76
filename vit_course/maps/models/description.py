"""The description of one model: the parts that its family's row names, found in it, inside any wrapper."""

from functools import cached_property
from typing import Any

from torch import nn

from vit_course._support.inputs.rules import is_int
from vit_course.maps.models.families import Family, family_of
from vit_course.maps.models.module_paths import few, holders, is_inside
from vit_course.maps.models.patch_geometry import PatchGeometry, find_geometry, pair

# Wrappers that pass on images and outputs unchanged: PyTorch's, PEFT's and timm's, by the names of their classes.
WRAPPERS = (
    *("DataParallel", "DistributedDataParallel", "OptimizedModule", "AveragedModel"),
    *("PeftModel", "PeftModelForImageClassification", "PeftModelForFeatureExtraction", "LoraModel"),
    *("ModelEma", "ModelEmaV2", "ModelEmaV3"),
)


class Description:
    """What a model is. Recording, interventions, effects and the explorer all use this.

    Args:
        model: the whole model.
        path: of the module inside whose class has a family, "" for the model itself.
        family: of that module.

    Raises:
        ValueError: the module does not have the parts that its family names, or has no maps over all patches.
    """

    def __init__(self, model: nn.Module, path: str, family: Family):
        self.model, self.path, self.family = model, path, family
        self.inside = model.get_submodule(path)
        if family.refused:
            raise ValueError(f"{self.name} {family.refused}")
        parent = self._need("layers", family.blocks)
        self.blocks: dict[str, nn.Module] = {
            f"{self._whole(parent)}.{name}": block for name, block in self.inside.get_submodule(parent).named_children()
        }
        self.attention = [self._attending(path, block) for path, block in self.blocks.items()]

    @property
    def name(self) -> str:
        """The class of the described module, for messages."""
        return type(self.inside).__name__

    @property
    def prefix(self) -> tuple[str, ...]:
        """The names of the tokens before the patches, such as ("class token", "register 1")."""
        parameters, names = dict(self.inside.named_parameters()), ()
        for name, path in self.family.tokens.items():
            held = parameters.get(path)
            if held is None and self.family.has_all:
                raise ValueError(f"the description of {self.name} says {path!r}, but it has no such parameter")
            count = 0 if held is None else held.shape[-2] if held.ndim > 1 else 1
            names += (name,) if count == 1 and name != "register" else numbered(name, count)
        if getattr(own_config(self.inside), "reads", None) == "cls+register":  # a distilled DeiT in ours
            names = (names[0], "distillation token", *numbered("register", len(names) - 2))
        return names

    @cached_property
    def patches(self) -> str | None:
        """The path of the module that cuts the image into patches, or None if the description does not say it."""
        return self._need("patches", self.family.patches) if self.family.patches else None

    @property
    def image_takers(self) -> list[nn.Module]:
        """The modules that take the images, from the described one in to that at `patches`."""
        return [self.inside.get_submodule(path) for path in holders(self.patches or "")]

    @property
    def first_attention(self) -> str:
        """The path of the first attention module."""
        return next(iter(self.attention[0]))

    @property
    def norm(self) -> nn.Module | None:
        """The norm after the last layer, if all tokens go through one."""
        return dict(self.inside.named_modules()).get(self.family.norm) if self.family.norm else None

    @property
    def channels(self) -> int:
        """The number of image channels, 3 if the model does not say it."""
        cut = None if self.patches is None else self.inside.get_submodule(self.patches)
        config = own_config(self.inside)
        stated = (getattr(cut, "in_channels", None), getattr(config, "in_channels", getattr(config, "num_channels", 3)))
        return next(filter(is_int, stated), 3)

    @property
    def image_size(self) -> tuple[int, int] | None:
        """(H, W) of the images that the described module was made for, if it says so."""
        return next((size for module in self.inside.modules() if (size := _size(module))), None)

    def geometry(self, image_size: tuple[int, int], grid: tuple[int, int] | None = None) -> PatchGeometry | None:
        """Where the patches of an image lie, as `find_geometry` finds it; None if their number is not known.

        Args:
            image_size: (H, W)
            grid: (rows, columns), if the caller knows it.
        """
        around = None if self.patches is None else self.inside.get_submodule(self.patches.partition(".")[0])
        return find_geometry(around, self.inside, image_size, grid)

    @property
    def is_bare(self) -> bool:
        """Whether nothing is around the described module but wrappers that pass on images and outputs unchanged.

        A module around it counts as such a wrapper if its class is one of `WRAPPERS`, or if it is Hugging Face's own,
        such as a model with a head for classes.
        """
        around = [self.model.get_submodule(path) for path in holders(self.path)[:-1]]
        return all(is_wrapper(module) or library_of(module) == "transformers" for module in around)

    def _whole(self, path: str) -> str:
        return ".".join(filter(None, (self.path, path)))

    def _need(self, what: str, path: str) -> str:
        if path not in dict(self.inside.named_modules()):
            raise ValueError(f"{self.name} should have its {what} at {path}, but has no such module")
        return path

    def _attending(self, path: str, block: nn.Module) -> dict[str, nn.Module]:
        # The attention modules of a layer by path: one, or several that are its heads.
        patterns = (self.family.attention,) if isinstance(self.family.attention, str) else self.family.attention
        for pattern in patterns:
            before, star, after = pattern.partition(".*")
            there = dict(block.named_modules())
            if before in there:
                parts = [f"{before}.{name}{after}" for name, _ in there[before].named_children()] if star else [before]
                if missing := [part for part in parts if part not in there]:
                    raise ValueError(f"layer {path} of {self.name} should have {few(missing)}, but has no such module")
                return {f"{path}.{part}": there[part] for part in parts}
        raise ValueError(
            f"layer {path} of {self.name} should attend at {' or '.join(patterns)}, but has no such module"
        )


def find_description(model: nn.Module) -> Description | None:
    """The description of a model, or of the one that it holds; None if its class has no family.

    Raises:
        ValueError: the model holds several, or as `Description`.
    """
    found: dict[str, Family] = {}
    for path, module in model.named_modules():
        family = family_of(type(module))
        if family is not None and not any(is_inside(path, other) for other in found):
            found[path] = family
    if len(found) > 1:
        raise ValueError(
            f"{type(model).__name__} holds several Vision Transformers, {few(list(found))}: give one of them"
        )
    for path, family in found.items():
        return Description(model, path, family)
    return None


def need_description(model: nn.Module) -> Description:
    """As `find_description`, for a model that must have one.

    Raises:
        ValueError: as `find_description`; or no class in the model has a family.
    """
    description = find_description(model)
    if description is None:
        raise ValueError(how_to_describe(model))
    return description


def how_to_describe(model: nn.Module) -> str:
    """The sentence that says what to give for a model whose class has no family."""
    kind = type(unwrapped(model)).__name__
    return (
        f"it is not known where {kind} keeps its layers: say it by maps.describe({kind}, blocks=..., attention=..., "
        "patches=..., tokens=...), as docs/own_model.md shows"
    )


def unwrapped(model: nn.Module) -> nn.Module:
    """Returns the model inside all wrappers of `WRAPPERS`."""
    while is_wrapper(model):
        model = next(model.children())
    return model


def is_wrapper(module: nn.Module) -> bool:
    """Whether a module is one of `WRAPPERS`."""
    return type(module).__name__ in WRAPPERS


def own_attribute(module: nn.Module, name: str) -> Any:
    """Returns a plain attribute of the module itself, not one that `__getattr__` passes on from a part; else None."""
    try:
        return object.__getattribute__(module, name)
    except AttributeError:
        return None


def own_config(module: nn.Module) -> Any:
    """Returns the config of a module; None without, and for a wrapper, whose config is that of the model inside."""
    return None if is_wrapper(module) else own_attribute(module, "config")


def library_of(module: nn.Module) -> str | None:
    """Returns the library of a model's class, or of a class that it is derived from: "timm", "vit_course"; or None."""
    known = ("vit_course", "timm", "transformers", "torchvision")
    roots = [kind.__module__.partition(".")[0] for kind in type(module).__mro__]
    return next((root for root in roots if root in known), None)


def numbered(name: str, count: int) -> tuple[str, ...]:
    """("register", 2) -> ("register 1", "register 2")"""
    return tuple(f"{name} {number}" for number in range(1, count + 1))


def _size(module: nn.Module) -> tuple[int, int] | None:
    # The attributes in which the libraries store it.
    config = getattr(own_config(module), "image_size", None)
    return pair(config) or pair(own_attribute(module, "image_size")) or pair(own_attribute(module, "img_size"))
