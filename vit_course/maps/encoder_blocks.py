"""Finds the attention layers of a model, and the blocks of its encoder that they belong to."""

import re

from torch import nn

from vit_course.maps.module_paths import few, is_inside

# Patterns for the names of classes and attributes: of attention layers, and of helper layers that are not attention.
ATTENDS, HELPS = r"att(n|ention)|xca|^w?mh?sa", r"output|norm|drop|mask|bias|embed|proj|softmax"


def find_attention(paths: dict[nn.Module, str]) -> dict[str, nn.Module]:
    """Finds the attention layers by path, recognised by their names, without modules that only contain such a layer."""
    found = {}
    for module, path in paths.items():
        names = [getattr(module, "original_name", type(module).__name__), path.rpartition(".")[2]]
        helps = any(re.search(HELPS, name, re.IGNORECASE) for name in names)
        if any(map(attends, names)) and not helps and not is_plain(module) and _has_matrices(module):
            found[path] = module
    holders = {path for path in found for other in found if other != path and is_inside(other, path)}
    return {path: module for path, module in found.items() if path not in holders}


def find_blocks(model: nn.Module, attention: list[str], projection: str | None = None) -> dict[str, nn.Module]:
    """Finds the layers of the encoder by path, in order: the numbered modules that contain one attention layer each.

    A layer that is no module of its own, because its attention and its MLP stand in a list, or each in a list of
    its own, is a `nn.ModuleList` of its parts.

    Args:
        model: any ViT.
        attention: the paths of its attention layers.
        projection: the path of its patch projection: what holds that too is a model in a list, and no layer.

    Raises:
        ValueError: there are none; several parts of the model have such layers; or a layer has several attention
            modules, as where each head is one.
    """
    blocks = {}
    for path in attention:
        parts = path.split(".")
        starts = [".".join(parts[:end]) for end in range(1, len(parts) + 1) if parts[end - 1][-1:].isdigit()]
        starts = [start for start in starts if projection is None or not is_inside(projection, start)] or starts
        # An attention pooling after the layers has no number, so it is left out.
        for start in starts:
            if sum(is_inside(other, start) for other in attention) == 1:
                blocks[start] = model.get_submodule(start)
                break
    parents = sorted({path.rpartition(".")[0] for path in blocks})
    if not blocks:
        raise ValueError(
            f"{type(model).__name__} has no numbered modules that each hold one attention, so nothing can be changed "
            "there"
        )
    if len(parents) > 1:
        for parent in parents:
            _check_no_block(attention, re.match(r"((.*?\.)?\d+)(\.|$)", parent))
        raise ValueError(f"attention runs in several parts of the model, {few(parents)}: change one of them")
    if not all(_attends_alone(attention, path, block) for path, block in blocks.items()):
        return blocks
    lists = _lists_beside(model, parents[0], len(blocks))
    if any(_has_matrices(each) for each in lists if each is not model.get_submodule(parents[0])):
        return {path: nn.ModuleList(row) for path, row in zip(blocks, zip(*lists, strict=True), strict=True)}
    holder = re.match(r"(.*)\.", parents[0])
    if holder and any(map(attends, (type(model.get_submodule(holder[1])).__name__, holder[1].split(".")[-1]))):
        _check_no_block(attention, holder)
    return blocks


def _check_no_block(attention: list[str], found: re.Match | None) -> None:
    # Raises if a path was found, of a module that holds several attention modules.
    if found:
        inside = [path for path in attention if is_inside(path, found[1])]
        raise ValueError(
            f"there are several attention modules in one block, {found[1]}: {few(inside)}; each may be a head, a "
            "branch or a layer, so nothing can be changed there"
        )


def _attends_alone(attention: list[str], path: str, block: nn.Module) -> bool:
    # Whether a numbered module has no matrix outside its attention.
    return not isinstance(block, (nn.ModuleList, nn.ModuleDict)) and not any(
        parameter.ndim > 1 and not any(is_inside(f"{path}.{name}", of) for of in attention)
        for name, parameter in block.named_parameters()
    )


def _lists_beside(model: nn.Module, parent: str, count: int) -> list[nn.ModuleList]:
    # The lists of `count` modules in the module that holds `parent`, which is one of them.
    beside = model.get_submodule(parent.rpartition(".")[0]).children()
    return [each for each in beside if isinstance(each, nn.ModuleList) and len(each) == count]


def attends(name: str) -> bool:
    """Whether the name of a class or an attribute is that of attention."""
    return re.search(ATTENDS, name, re.IGNORECASE) is not None


def parts_of(block: nn.Module) -> list[nn.Module]:
    """The modules that a layer of `find_blocks` is a list of; none, if the layer is a module that is called."""
    if not isinstance(block, (nn.ModuleList, nn.ModuleDict)):
        return []
    return [part for child in block.children() for part in parts_of(child) or [child]]


def first_part(block: nn.Module) -> nn.Module:
    """The module by which a layer of `find_blocks` is known: itself, or the first of those that it is a list of."""
    return next(iter(parts_of(block)), block)


def is_plain(module: nn.Module) -> bool:
    """Whether a module is one of PyTorch's own layers, other than `nn.MultiheadAttention`."""
    return type(module).__module__.startswith("torch.nn") and not isinstance(module, nn.MultiheadAttention)


def _has_matrices(module: nn.Module) -> bool:
    return any(parameter.ndim > 1 for parameter in module.parameters())
