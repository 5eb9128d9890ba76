"""Which tokens of a sequence are patches, where those lie, and what the others are called."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.rules import is_int, shown
from vit_course.config import ViTConfig

# What the libraries call the parameters that are tokens, and what a reader may call them. In this order they stand
# in the sequence: DeiT's (arXiv:2012.12877) and the registers (arXiv:2309.16588) follow the class token.
NAMES = (
    ("class token", r"cls_token|class_token|class_embedding|cls_embedding"),
    ("distillation token", r"dist_token|distillation_token"),
    ("register", r"reg_tokens?|register_tokens?|registers|storage_tokens"),
)
BEHIND = r"det_tokens?|detection_tokens"
# Their models put them in that order. Of others it is known that a lone class token comes first, and no more.
KNOWN = ("timm", "transformers", "torchvision", "dinov2", "dinov3")
# Where nobody says how many tokens are no patches: a class token, a distillation token, four registers.
MOST_OTHERS = 5


@dataclass(frozen=True)
class Tokens:
    """The order of a sequence: first the tokens that are not patches, by name, then the patches row by row.

    Args:
        prefix: such as ("class token", "register 1").
        grid: (rows, columns) of patches.
    """

    prefix: tuple[str, ...]
    grid: tuple[int, int]

    @property
    def num_prefix(self) -> int:
        """How many tokens come before the first patch."""
        return len(self.prefix)

    def name(self, token: int) -> str:
        """What a reader calls it: "register 2", or "row 3, column 0"."""
        if token < self.num_prefix:
            return self.prefix[token]
        row, column = divmod(token - self.num_prefix, self.grid[1])
        return f"row {row}, column {column}"


def find_tokens(
    num_tokens: int,
    image_size: tuple[int, int] | None,
    model: nn.Module | None = None,
    grid: tuple[int, int] | None = None,
    prefix: int | Sequence[str] | None = None,
) -> Tokens:
    """Where the patches lie in a sequence, from the arguments, else from the model, else from the numbers alone.

    Args:
        num_tokens: T
        image_size: (H, W) of what the model was given.
        model: of any library; what it says of its tokens and its patches is taken, and must agree with T.
        grid: (rows, columns) of patches.
        prefix: the names of the tokens in front of the patches, or how many there are.

    Raises:
        ValueError: arguments or a model that do not fit T; or nothing that says where the patches lie, and more than
            one grid of square patches that does, or none.
    """
    if grid is not None:
        check_arguments(grid=grid)
    names = need_prefix(prefix)
    if model is not None and (behind := _called(model, BEHIND)):
        raise ValueError(
            f"{type(model).__name__} puts {next(iter(behind))} behind its patches, where no place is known for them"
        )
    if model is not None and names is None:
        names = names_in(model)
    place = grid
    if place is None:
        if image_size is None:
            raise ValueError(
                "the size of the images was not seen, or is not one, so the patches' places are not known: give grid"
            )
        place = grid_in(model, image_size)
        if place is None:
            return _fitting(num_tokens, image_size, model, names)
    rows, columns = place
    others = num_tokens - rows * columns
    if others < 0 and grid is not None:
        raise ValueError(
            f"a grid of {rows} x {columns} has {rows * columns} patches, but the maps have {num_tokens} tokens"
        )
    if names is None:
        names = _need_order(model, others)
    _check_count(num_tokens, (rows, columns), names)
    return Tokens(names, (rows, columns))


def check_whole(model: nn.Module, num_tokens: int, image_size: tuple[int, int] | None) -> None:
    """Refuses maps of T tokens where the model is known to have left patches out, or to have put them in another order.

    Raises:
        ValueError: which of the two.
    """
    if any(type(module).__name__ == "ViTMAEEmbeddings" for module in model.modules()):
        raise ValueError(
            f"{type(model).__name__} leaves patches out at random and shuffles the others, also in eval mode, so "
            "their places are not known: load its weights by pretrained.load_huggingface, which keeps all of them"
        )
    if image_size is None or _called(model, BEHIND):
        return
    names, place = names_in(model), grid_in(model, image_size)
    if names is not None and place is not None:
        _check_count(num_tokens, place, names)


def _check_count(num_tokens: int, grid: tuple[int, int], names: tuple[str, ...]) -> None:
    rows, columns = grid
    if rows * columns + len(names) != num_tokens:
        said = ", ".join(names) or "no other token"
        raise ValueError(
            f"the maps have {num_tokens} tokens, and {rows} x {columns} patches with {said} make "
            f"{rows * columns + len(names)}: patches are left out, joined or added, so their places are not known"
        )


def names_in(model: nn.Module) -> tuple[str, ...] | None:
    """-> the names of the tokens in front of the patches, or None where the model does not say."""
    for module in model.modules():
        config = getattr(module, "config", None)
        if isinstance(config, ViTConfig):
            names = ("class token",) * (config.pool == "cls")
            if getattr(config, "reads", None) == "cls+register":  # DeiT's, which is no other kind of token in ours
                names += ("distillation token",)
            return names + _numbered("register", config.num_prefix - len(names))
    counts = []
    for _, pattern in NAMES:
        sizes = {p.shape[-2] if p.ndim > 1 else 1 for p in _called(model, pattern).values()} or {0}
        counts.append(sizes.pop() if len(sizes) == 1 else -1)
    one, distilled, registers = counts
    known = any(type(module).__module__.partition(".")[0] in KNOWN for module in model.modules())
    if min(counts) < 0 or max(one, distilled) > 1 or not (known or counts == [1, 0, 0]):
        return None
    names = ("class token",) * one + ("distillation token",) * distilled + _numbered("register", registers)
    said = next((count for m in model.modules() if is_int(count := getattr(m, "num_prefix_tokens", None))), len(names))
    return names if said == len(names) else None


def grid_in(model: nn.Module | None, image_size: tuple[int, int]) -> tuple[int, int] | None:
    """-> (rows, columns) of the model's patches over an image of this size, or None where it does not say."""
    modules = () if model is None else model.modules()
    for module in modules:
        if callable(ask := getattr(module, "dynamic_feat_size", None)):  # timm's, which knows about padding and stems
            rows, columns = ask(tuple(image_size))
            return int(rows), int(columns)
        for owner in (module, getattr(module, "config", None)):
            size = getattr(owner, "patch_size", None)
            size = (size, size) if is_int(size) else size
            if isinstance(size, (tuple, list)) and len(size) == 2 and all(is_int(side) and side > 0 for side in size):
                rows, columns = image_size[0] // size[0], image_size[1] // size[1]
                return (rows, columns) if rows and columns else None
    return None


def _need_order(model: nn.Module | None, others: int) -> tuple[str, ...]:
    # One token more than patches is a class token in front of them, where the model has no other.
    special = [] if model is None else [path for _, pattern in NAMES for path in _called(model, pattern)]
    if others and (special or others > 1) and model is not None:
        which = f" ({', '.join(special)})" if special else ""
        raise ValueError(
            f"{type(model).__name__} does not say where its {others} tokens that are not patches are{which}: where "
            "they come before the patches, give their names as prefix="
        )
    return _unnamed(max(others, 0))


def _called(model: nn.Module, pattern: str) -> dict[str, nn.Parameter]:
    # What a head asks the patches with, after the last layer, is no token of theirs.
    return {
        path: parameter
        for path, parameter in model.named_parameters()
        if re.fullmatch(pattern, path.rpartition(".")[2]) and not re.search(r"head|pool|decoder", path)
    }


def need_prefix(prefix: int | Sequence[str] | None) -> tuple[str, ...] | None:
    """-> the names of the tokens before the patches, or None where nobody gave any.

    Raises:
        ValueError: neither names nor a number.
    """
    if prefix is None:
        return None
    if is_int(prefix) and prefix >= 0:
        return _unnamed(prefix)
    if not isinstance(prefix, (list, tuple)) or not all(isinstance(name, str) for name in prefix):
        raise ValueError(
            f"prefix must be the names of the tokens before the patches, or their number, got {shown(prefix)}"
        )
    return tuple(prefix)


def _unnamed(count: int) -> tuple[str, ...]:
    # Where there is one, it is the class token in every model that is known here.
    return ("class token",) if count == 1 else _numbered("extra token", count)


def _numbered(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name} {number}" for number in range(1, count + 1))


def _fitting(
    num_tokens: int, image_size: tuple[int, int], model: nn.Module | None, names: tuple[str, ...] | None
) -> Tokens:
    # Square patches: the grid has the proportions of the image.
    height, width = image_size
    fitting = []
    for others in range(MOST_OTHERS + 1) if names is None else [len(names)]:
        rows = round((max(num_tokens - others, 0) * height / width) ** 0.5)
        columns = (num_tokens - others) // rows if rows else 0
        if rows * columns == num_tokens - others > 0 and rows * width == columns * height:
            fitting.append((others, rows, columns))
    if len(fitting) > 1:  # a single patch is no grid that anybody would look at
        fitting = [one for one in fitting if one[1:] != (1, 1)]
    if not fitting:
        raise ValueError(
            f"no grid of square patches over an image of {height} x {width} has {num_tokens} tokens: give grid"
        )
    if len(fitting) > 1:
        listed = ", or ".join(f"{others} and {rows} x {columns} patches" for others, rows, columns in fitting)
        raise ValueError(f"{num_tokens} tokens may be {listed}: give grid=(rows, columns), prefix= or both")
    others, rows, columns = fitting[0]
    return Tokens(_need_order(model, others) if names is None else names, (rows, columns))
