"""What a model computes where something in it is changed: heads, branches, layers, keys or tokens, in any ViT."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import nn

from vit_course._support.inputs.rules import is_int, one_of, shown
from vit_course._support.inputs.tensors import check_axes, check_floats, check_module
from vit_course.maps.active_interventions import active
from vit_course.maps.anatomy import Anatomy
from vit_course.maps.attention_tracer import sums_to_one
from vit_course.maps.foreign_recording import EAGER
from vit_course.maps.intervention_hooks import InterventionHooks
from vit_course.maps.intervention_mode import Intervention, RunningLayer
from vit_course.maps.recorded import HOOKS

# An index, several, or a slice.
Places = int | Sequence[int] | torch.Tensor | slice
# A word; another picture, (1 or B, C, H, W); or a function of what is there.
By = str | torch.Tensor | Callable[[torch.Tensor], torch.Tensor]
ALL = slice(None)
BRANCH, BY = one_of("attention", "mlp"), one_of("mean", "zero")


def without_head(layer: Places, head: Places, by: By = "mean") -> Intervention:
    """One head without what it says of this token or that: its output (B, T, d) is replaced before heads are joined.

    Args:
        layer, head: counted from 0; several, or a slice, are replaced together.
        by: "mean", the mean over its T tokens, which keeps what it says of all of them; "zero"; another picture
            (1 or B, C, H, W), as the model takes it, whose output takes the place (resample ablation); or a function
            of the layer's outputs, (B, h, T, d) to as many, such as one of their mean over a batch.

    Raises:
        TypeError, ValueError: an index that is no int of at least 0, or another `by`.

    Source: Michel et al. 2019 (arXiv:1905.10650), with zeros.
    """
    return _of_heads("without_head", "heads", layer, head, by)


def reweighted(layer: Places, head: Places, by: By = "mean") -> Intervention:
    """Heads that look where they are told to: their weights (B, h, T, T) are replaced, their values stay.

    Args:
        layer, head: counted from 0; several, or a slice, are replaced together.
        by: "mean", for every query the mean of all T rows; another picture, whose weights are used (attention pattern
            patching); or a function of the layer's weights, (B, h, T, T) to as many. A row must sum to 1.

    Raises:
        TypeError, ValueError: as `without_head`; when the model runs, rows that are not at least 0 or do not sum to 1.

    Source: Jain and Wallace 2019 (arXiv:1902.10186), who permute the weights and look at the output.
    """
    return _of_heads("reweighted", "weights", layer, head, by)


def without_branch(layer: Places, branch: str, by: By = "zero") -> Intervention:
    """A layer without its attention or without its MLP: what the branch adds to the tokens (B, T, D) is replaced.

    Args:
        layer: counted from 0; or several.
        branch: "attention" or "mlp".
        by: "zero", so that the tokens pass by unchanged; "mean", over the T tokens; another picture, or a function
            of (B, T, D), as of `without_head`.

    Raises:
        TypeError, ValueError: as `without_head`, or another branch.

    Source: Veit et al. 2016 (arXiv:1605.06431), who delete layers of residual networks.
    """
    BRANCH("branch", branch)
    name = f"without_branch({shown(layer)}, {branch!r})"
    return Intervention(name, branch, need_places("layer", layer), _filling(by), _pictures(by))


def without_layer(layer: Places, by: By = "zero") -> Intervention:
    """A model without one of its layers: all that the layer adds to the tokens (B, T, D) is replaced.

    Args:
        layer, by: as of `without_branch`.

    Raises:
        TypeError, ValueError: as `without_head`.

    Source: Veit et al. 2016 (arXiv:1605.06431), who delete layers of residual networks.
    """
    name = f"without_layer({shown(layer)})"
    return Intervention(name, "layer", need_places("layer", layer), _filling(by), _pictures(by))


def hide(patches: Places, layers: Places = ALL) -> Intervention:
    """Patches that no token may read any more, not even they themselves: their scores are -infinity in all heads.

    The softmax then shares their weight among the keys that are left (attention knockout). What the patches told
    others in earlier layers stays told.

    Args:
        patches: indices of patches, row by row from 0, without the class token and registers.
        layers: in which layers; by default in all.

    Raises:
        ValueError: no indices of at least 0.

    Source: Geva et al. 2023 (arXiv:2304.14767), attention knockout.
    """
    name = f"hide({shown(patches)})"
    places = need_places("patch", patches)

    def change(hidden: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        tokens = at.find_tokens(hidden.shape[-1])
        keys = among("patch", places, tokens.grid[0] * tokens.grid[1], name)
        changed = hidden.clone()
        changed[..., [tokens.num_prefix + key for key in keys]] = True
        return changed

    return Intervention(name, "scores", need_places("layer", layers), change)


def cut(query: Places, keys: Places, layers: Places = ALL) -> Intervention:
    """As `hide`, for one query alone or for some: these tokens may not read those.

    Args:
        query, keys: indices of tokens, in the order of the maps (`maps.tokens()` says what they are): where there is
            a class token, it is 0. `slice(None)` means all of them.
        layers: in which layers; by default in all.

    Raises:
        ValueError: no indices of at least 0.

    Source: Geva et al. 2023 (arXiv:2304.14767), attention knockout.
    """
    name = f"cut({shown(query)}, {shown(keys)})"
    asking, asked = need_places("token", query), need_places("token", keys)

    def change(hidden: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        rows, columns = (among("token", each, hidden.shape[-1], name) for each in (asking, asked))
        changed = hidden.clone()
        changed[..., torch.tensor(rows)[:, None], torch.tensor(columns)] = True
        return changed

    return Intervention(name, "scores", need_places("layer", layers), change)


def patched(tokens: Places, layer: Places, from_: torch.Tensor) -> Intervention:
    """Tokens that enter a layer are replaced by those of another run (activation patching).

    Args:
        tokens: indices, as of `cut`.
        layer: which they enter, counted from 0.
        from_: another picture (1 or B, C, H, W), whose tokens in this place are taken; or all tokens that are to enter
            the layer, (1 or B, T, D), such as noise.

    Raises:
        TypeError, ValueError: no indices of at least 0, or neither of the two.

    Source: Meng et al. 2022 (arXiv:2202.05262), causal tracing.
    """
    name = f"patched({shown(tokens)}, {shown(layer)})"
    check_floats("from_", from_)
    if from_.ndim not in (3, 4):
        raise ValueError(f"from_ must be a picture (B, C, H, W) or tokens (B, T, D), got shape {tuple(from_.shape)}")
    places = need_places("token", tokens)

    def change(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        source = from_ if at.other is None else at.other
        if len(source) not in (1, len(x)) or source.shape[1:] != x.shape[1:]:
            raise ValueError(f"{name}: from_ has shape {tuple(source.shape)}, and the tokens are {tuple(x.shape)}")
        changed, where = x.clone(), among("token", places, x.shape[1], name)
        changed[:, where] = source.to(x)[:, where]
        return changed

    return Intervention(name, "tokens", need_places("layer", layer), change, from_ if from_.ndim == 4 else None)


@contextmanager
def intervene(model: nn.Module, interventions: Sequence[Intervention]) -> Iterator[nn.Module]:
    """Changes what `model` computes while the with block runs, and nothing of the model itself.

    Several interventions, and several with blocks, act together, in their order. Autograd follows them. Attention
    weights that `record_attention` records, inside this block or around it, are those that were used. No hook is left
    behind, even after an exception. Only this model is changed, and only in the thread that opened the block.

    Args:
        model: any that `record_attention` records and whose layers are numbered modules, tokens (B, T, D) in and out:
            ours, torchvision's, timm's, Hugging Face's.
        interventions: made by `without_head`, `reweighted`, `without_branch`, `without_layer`, `hide`, `cut` or
            `patched`.

    Yields:
        The model.

    Raises:
        TypeError: not a module, or not an intervention.
        ValueError: a model without such layers, or an index that it does not have. When the model runs: the same of
            heads, patches and tokens; or a layer that computes in a way that cannot be changed.
    """
    check_module("model", model)
    interventions = list(interventions)
    for one in interventions:
        if not isinstance(one, Intervention):
            raise TypeError(f"interventions must be those of without_head, hide and so on, got {shown(one)}")
    anatomy = Anatomy(model)
    changes: dict[int, list[Intervention]] = {}
    for one in interventions:
        for layer in among("layer", one.layers, len(anatomy.blocks), one.name):
            changes.setdefault(layer, []).append(one)
    hooked = InterventionHooks(anatomy, changes)
    with HOOKS:
        hooks = hooked.put_on()
    try:
        with EAGER, active(hooked.changing):
            hooked.learn()
            yield model
    finally:
        with HOOKS:
            for hook in hooks:
                hook.remove()


def need_places(what: str, value: Places) -> tuple[int, ...] | slice:
    """-> indices, whether one, several or a slice of them was given.

    Raises:
        ValueError: neither of them.
    """
    if isinstance(value, slice):
        return value
    several = value.tolist() if isinstance(value, torch.Tensor) else value
    places = [several] if is_int(several) else several
    if not isinstance(places, (list, tuple, range)) or not places or not all(is_int(n) and n >= 0 for n in places):
        raise ValueError(f"{what} must be an int of at least 0, several or a slice, got {shown(value)}")
    return tuple(places)


def among(what: str, places: tuple[int, ...] | slice, count: int, name: str) -> list[int]:
    """-> the indices, each of which is one of `count`.

    Raises:
        ValueError: one that is not, or a slice without any.
    """
    if isinstance(places, slice):
        if not (chosen := list(range(count)[places])):
            raise ValueError(f"{name}: {shown(places)} is no {what} of {count}")
        return chosen
    if max(places) >= count:
        raise ValueError(f"{name}: {what} must be from 0 to {count - 1}, got {max(places)}")
    return list(places)


def _of_heads(kind: str, place: str, layer: Places, head: Places, by: By) -> Intervention:
    # place: "heads", (B, h, T, d), or "weights", (B, h, T, T).
    name = f"{kind}({shown(layer)}, {shown(head)})"
    places, fill = need_places("head", head), _filling(by)

    def change(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        where = torch.tensor(among("head", places, x.shape[1], name), device=x.device)
        changed = x.index_copy(1, where, fill(x, at)[:, where].to(x))
        if place == "weights" and not sums_to_one(changed):
            raise ValueError(f"{name}: each row of the weights must be at least 0 and sum to 1, as a softmax makes it")
        return changed

    return Intervention(name, place, need_places("layer", layer), change, _pictures(by))


def _filling(by: By) -> Callable[[torch.Tensor, RunningLayer], torch.Tensor]:
    # (..., T, d) -> what takes its place.
    if isinstance(by, torch.Tensor):
        check_axes("by", by, "(B, C, H, W)")
        return _other
    if callable(by):
        return partial(_made, by)
    BY("by", by)
    return (lambda x, at: torch.zeros_like(x)) if by == "zero" else lambda x, at: x.mean(-2, True).expand_as(x)


def _other(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
    # Another picture's pass comes before.
    assert at.other is not None
    return at.other.to(x).expand_as(x)


def _made(by: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, _: RunningLayer) -> torch.Tensor:
    made = by(x)
    if not isinstance(made, torch.Tensor) or made.shape != x.shape:
        raise ValueError(f"by must be a function that gives a tensor of shape {tuple(x.shape)}, it gave {shown(made)}")
    return made


def _pictures(by: By) -> torch.Tensor | None:
    return by if isinstance(by, torch.Tensor) else None
