"""Interventions: changes of heads, branches, layers, keys or tokens while a model runs, in any ViT."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import torch
from torch import nn

from vit_course._support.inputs.rules import one_of, shown
from vit_course._support.inputs.tensors import check_axes, check_floats, check_module, check_numbers
from vit_course.maps.active_interventions import active, active_mode
from vit_course.maps.attention_calls import sums_to_one
from vit_course.maps.hooks import hooked
from vit_course.maps.interventions.indices import ALL, Places, among, need_places
from vit_course.maps.interventions.intervention import Intervention, RunningLayer
from vit_course.maps.interventions.intervention_hooks import InterventionHooks
from vit_course.maps.interventions.stored_means import MeanActivations
from vit_course.maps.models.description import need_description
from vit_course.maps.run_model import EAGER

# "token mean" or "zero"; means over a data set; another picture, (1 or B, C, H, W); or a function of the present value.
By = str | MeanActivations | torch.Tensor | Callable[[torch.Tensor], torch.Tensor]
BRANCH, BY = one_of("attention", "mlp"), one_of("token mean", "zero")


def without_head(layer: Places, head: Places, by: By = "token mean") -> Intervention:
    """Replaces the output of a head, (B, T, d), before the heads are joined.

    Args:
        layer, head: counted from 0; several, or a slice, are replaced together.
        by: "token mean", the mean over its T tokens, so that only the differences between tokens are lost; "zero"; the
            result of `mean_activations`, its mean over a data set (mean ablation); another picture (1 or B, C, H, W),
            as the model takes it, whose output is used (resample ablation); or a function of (B, h, T, d).

    Raises:
        TypeError, ValueError: an index that is not an int of at least 0, or an unknown `by`; when the model runs, means
            of another model, or that do not fit the size of the pictures or the number of tokens.

    Source: Michel et al. 2019 (arXiv:1905.10650), with zeros; Wang et al. 2022 (arXiv:2211.00593), with means over a
        data set.
    """
    return of_parts(f"without_head({shown(layer)}, {shown(head)})", "heads", layer, head, by)


def reweighted(layer: Places, head: Places, by: By = "token mean") -> Intervention:
    """Replaces the attention weights of heads, (B, h, T, T), and keeps their values.

    Args:
        layer, head: counted from 0; several, or a slice, are replaced together.
        by: "token mean", for every query the mean of all T rows; the result of `mean_activations`, whose weights are
            means over a data set; another picture, whose weights are used (attention pattern patching); or a function
            of the layer's weights, (B, h, T, T) to the same shape. A row must sum to 1.

    Raises:
        TypeError, ValueError: as `without_head`; when the model runs, rows that are not at least 0 or do not sum to 1.

    Source: Jain and Wallace 2019 (arXiv:1902.10186), who permute the weights and look at the output.
    """
    return of_parts(f"reweighted({shown(layer)}, {shown(head)})", "weights", layer, head, by)


def without_branch(layer: Places, branch: str, by: By = "zero") -> Intervention:
    """Removes the attention or the MLP of a layer: what the branch adds to the tokens (B, T, D) is replaced.

    Args:
        layer: counted from 0; or several.
        branch: "attention" or "mlp".
        by: "zero", so that the tokens pass by unchanged; "token mean"; the result of `mean_activations`; another
            picture, or a function of (B, T, D), as in `without_head`.

    Raises:
        TypeError, ValueError: as `without_head`, or an unknown branch.

    Source: Veit et al. 2016 (arXiv:1605.06431), who delete layers of residual networks.
    """
    BRANCH("branch", branch)
    name = f"without_branch({shown(layer)}, {branch!r})"
    return Intervention(name, branch, need_places("layer", layer), _filling(by, branch), _pictures(by))


def without_layer(layer: Places, by: By = "zero") -> Intervention:
    """Removes a whole layer: everything that it adds to the tokens (B, T, D) is replaced.

    Args:
        layer, by: as in `without_branch`.

    Raises:
        TypeError, ValueError: as `without_head`.

    Source: Veit et al. 2016 (arXiv:1605.06431), who delete layers of residual networks.
    """
    name = f"without_layer({shown(layer)})"
    return Intervention(name, "layer", need_places("layer", layer), _filling(by, "layer"), _pictures(by))


def hide(patches: Places, layers: Places = ALL) -> Intervention:
    """Hides patches from all tokens, themselves included: their scores are -infinity in all heads.

    The softmax then shares their weight among the remaining keys (attention knockout). What other tokens read from the
    patches in earlier layers stays in those tokens.

    Args:
        patches: indices of patches, row by row from 0, without the class token and registers.
        layers: in which layers; by default in all.

    Raises:
        ValueError: values that are not indices of at least 0.

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
    """Hides keys from some queries only: `hide` does so for all queries.

    Args:
        query, keys: indices of tokens, in the order of the maps (`maps.tokens()` says what they are): where there is
            a class token, it is 0. `slice(None)` means all of them.
        layers: in which layers; by default in all.

    Raises:
        ValueError: values that are not indices of at least 0.

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
    """Replaces tokens that enter a layer by those of another run (activation patching).

    Args:
        tokens: indices, as in `cut`.
        layer: the layer that they enter, counted from 0.
        from_: another picture (1 or B, C, H, W), whose tokens at this layer are used; or all tokens that are to enter
            the layer, (1 or B, T, D), such as noise.

    Raises:
        TypeError, ValueError: values that are not indices of at least 0, or a `from_` that is neither of the two.

    Source: Meng et al. 2022 (arXiv:2202.05262), causal tracing.
    """
    name = f"patched({shown(tokens)}, {shown(layer)})"
    check_floats("from_", from_)
    check_numbers("from_", from_)
    if from_.ndim not in (3, 4):
        raise ValueError(f"from_ must be a picture (B, C, H, W) or tokens (B, T, D), got shape {tuple(from_.shape)}")
    places = need_places("token", tokens)

    def change(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        source = from_ if at.other is None else at.other
        if len(source) not in (1, len(x)) or source.shape[1:] != x.shape[1:]:
            raise ValueError(f"{name}: from_ has shape {tuple(source.shape)}, but the tokens are {tuple(x.shape)}")
        changed, where = x.clone(), among("token", places, x.shape[1], name)
        changed[:, where] = source.to(x)[:, where]
        return changed

    return Intervention(name, "tokens", need_places("layer", layer), change, from_ if from_.ndim == 4 else None)


@contextmanager
def intervene(model: nn.Module, interventions: Sequence[Intervention]) -> Iterator[nn.Module]:
    """Changes what `model` computes while the with block runs; the model itself is not changed.

    Several interventions are applied in their order, and with blocks can be nested. Autograd follows the changes.
    `record_attention`, inside this block or around it, records the weights that were used. All hooks are removed at
    the end, even after an exception. Only this model is changed, and only in the thread that opened the block.

    Args:
        model: ours, torchvision's, timm's, Hugging Face's, vit-pytorch's, or one of a class that `describe` has made
            known; tokens (B, T, D) go in and out of its layers.
        interventions: made by `without_head`, `replaced`, `reweighted`, `without_branch`, `without_neurons`,
            `without_layer`, `hide`, `cut` or `patched`.

    Yields:
        The model.

    Raises:
        TypeError: not a module, or not an intervention.
        ValueError: a model that nobody has described, or a layer that it does not have. When the model runs: an
            index of a head, patch or token that it does not have; or a layer that computes in a way that cannot be
            changed.
    """
    check_module("model", model)
    if not isinstance(interventions, Iterable):
        raise TypeError(f"interventions must be a list, such as [without_head(0, 1)], got {shown(interventions)}")
    interventions = list(interventions)
    for one in interventions:
        if not isinstance(one, Intervention):
            raise TypeError(f"interventions must be made by without_head, hide and so on, got {shown(one)}")
    description = need_description(model)
    if (outer := active_mode(description.inside)) is not None:  # it stands back while this block runs
        interventions = [*outer.interventions, *interventions]
    hooks = InterventionHooks(description, interventions, {} if outer is None else dict(outer.learned))
    with hooked(hooks.all()), EAGER, active(hooks.mode):
        hooks.learn()
        yield model


def of_parts(name: str, place: str, layer: Places, parts: Places, by: By) -> Intervention:
    """Replaces some of the heads at a place (B, h, T, ...), or some of the "neurons" (B, T, M)."""
    what, axis = ("neuron", 2) if place == "neurons" else ("head", 1)
    places, fill = need_places(what, parts), _filling(by, place)

    def change(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        where = torch.tensor(among(what, places, x.shape[axis], name), device=x.device)
        changed = x.index_copy(axis, where, fill(x, at).index_select(axis, where).to(x))
        if place == "weights" and not sums_to_one(changed):
            raise ValueError(f"{name}: each row of the new weights must be at least 0 and sum to 1, as after a softmax")
        return changed

    return Intervention(name, place, need_places("layer", layer), change, _pictures(by))


def _filling(by: By, place: str) -> Callable[[torch.Tensor, RunningLayer], torch.Tensor]:
    # The function from the present value (..., T, d) to the one that replaces it.
    if isinstance(by, MeanActivations):
        return by.filling(place)
    if isinstance(by, torch.Tensor):
        check_axes("by", by, "(B, C, H, W)")
        check_numbers("by", by)
        return _other
    if callable(by):
        return partial(_made, by)
    BY("by", by)
    return (lambda x, at: torch.zeros_like(x)) if by == "zero" else lambda x, at: x.mean(-2, True).expand_as(x)


def _other(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
    # `InterventionHooks.learn` has already run the other picture.
    assert at.other is not None
    return at.other.to(x).expand_as(x)


def _made(by: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, _: RunningLayer) -> torch.Tensor:
    made = by(x)
    if not isinstance(made, torch.Tensor) or made.shape != x.shape:
        raise ValueError(f"by must be a function that gives a tensor of shape {tuple(x.shape)}, but gave {shown(made)}")
    return made


def _pictures(by: By) -> torch.Tensor | None:
    return by if isinstance(by, torch.Tensor) else None
