"""Makes interventions: changes of heads, branches, layers, keys, tokens, queries, values or neurons."""

from collections.abc import Callable
from functools import partial

import torch

from vit_course._support.inputs.rules import one_of, shown
from vit_course._support.inputs.tensors import check_axes, check_floats, check_numbers
from vit_course.maps.attention_calls import sums_to_one
from vit_course.maps.interventions.indices import ALL, Indices, need_indices, resolve_indices
from vit_course.maps.interventions.intervention import Intervention, RunningLayer
from vit_course.maps.interventions.stored_means import MeanActivations

# "token mean" or "zero"; means over a data set; another picture, (1 or B, C, H, W); or a function of the present value.
By = str | MeanActivations | torch.Tensor | Callable[[torch.Tensor], torch.Tensor]
BRANCH, BY = one_of("attention", "mlp"), one_of("token mean", "zero")
PLACE = one_of("queries", "keys", "values")


def without_head(layer: Indices, head: Indices, by: By = "token mean") -> Intervention:
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
    return _of_parts(f"without_head({shown(layer)}, {shown(head)})", "heads", layer, head, by)


def reweighted(layer: Indices, head: Indices, by: By = "token mean") -> Intervention:
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
    return _of_parts(f"reweighted({shown(layer)}, {shown(head)})", "weights", layer, head, by)


def without_branch(layer: Indices, branch: str, by: By = "zero") -> Intervention:
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
    return Intervention(name, branch, need_indices("layer", layer), _filling(by, branch), _pictures(by))


def without_layer(layer: Indices, by: By = "zero") -> Intervention:
    """Removes a whole layer: everything that it adds to the tokens (B, T, D) is replaced.

    Args:
        layer, by: as in `without_branch`.

    Raises:
        TypeError, ValueError: as `without_head`.

    Source: Veit et al. 2016 (arXiv:1605.06431), who delete layers of residual networks.
    """
    name = f"without_layer({shown(layer)})"
    return Intervention(name, "layer", need_indices("layer", layer), _filling(by, "layer"), _pictures(by))


def hide(patches: Indices, layers: Indices = ALL) -> Intervention:
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
    places = need_indices("patch", patches)

    def change(hidden: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        tokens = at.find_tokens(hidden.shape[-1])
        keys = resolve_indices("patch", places, tokens.grid[0] * tokens.grid[1], name)
        changed = hidden.clone()
        changed[..., [tokens.num_prefix + key for key in keys]] = True
        return changed

    return Intervention(name, "scores", need_indices("layer", layers), change)


def cut(query: Indices, keys: Indices, layers: Indices = ALL) -> Intervention:
    """Hides keys from some queries only: `hide` does so for all queries.

    Args:
        query, keys: indices of tokens, in the order of the maps (`tokens()` of a recording says what they are): where
            there is a class token, it is 0. `slice(None)` means all of them.
        layers: in which layers; by default in all.

    Raises:
        ValueError: values that are not indices of at least 0.

    Source: Geva et al. 2023 (arXiv:2304.14767), attention knockout.
    """
    name = f"cut({shown(query)}, {shown(keys)})"
    asking, asked = need_indices("token", query), need_indices("token", keys)

    def change(hidden: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        rows, columns = (resolve_indices("token", each, hidden.shape[-1], name) for each in (asking, asked))
        changed = hidden.clone()
        changed[..., torch.tensor(rows)[:, None], torch.tensor(columns)] = True
        return changed

    return Intervention(name, "scores", need_indices("layer", layers), change)


def patched(tokens: Indices, layer: Indices, from_: torch.Tensor) -> Intervention:
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
    places = need_indices("token", tokens)

    def change(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        source = from_ if at.other is None else at.other
        if len(source) not in (1, len(x)) or source.shape[1:] != x.shape[1:]:
            raise ValueError(f"{name}: from_ has shape {tuple(source.shape)}, but the tokens are {tuple(x.shape)}")
        changed, where = x.clone(), resolve_indices("token", places, x.shape[1], name)
        changed[:, where] = source.to(x)[:, where]
        return changed

    return Intervention(name, "tokens", need_indices("layer", layer), change, from_ if from_.ndim == 4 else None)


def replaced(place: str, layer: Indices, head: Indices, by: By = "zero") -> Intervention:
    """Replaces the queries, keys or values of heads, (B, h, T, d).

    They are what enters the product `q k^T` or the product with the weights. If the attention is computed step by
    step, as in our models of up to 128 tokens, and in timm without its fused attention, the queries have already been
    divided by `sqrt(d)`. A model whose heads share keys and values has fewer heads of these.

    Args:
        place: "queries", "keys" or "values".
        layer, head: counted from 0; several, or a slice, are replaced together.
        by: as in `without_head`. With "zero" for queries or keys all scores are equal, and so are the weights.

    Raises:
        TypeError, ValueError: as `without_head`, or an unknown place; when the model runs, attention that does
            not show them.

    Source: Wang et al. 2022 (arXiv:2211.00593), who patch what heads read by queries, keys or values alone.
    """
    PLACE("place", place)
    return _of_parts(f"replaced({place!r}, {shown(layer)}, {shown(head)})", place, layer, head, by)


def without_neurons(layer: Indices, neurons: Indices, by: By = "zero") -> Intervention:
    """Replaces neurons of an MLP, (B, T, M): what enters its last linear layer, behind the GELU or a gate.

    Args:
        layer: counted from 0; or several.
        neurons: indices from 0 to M - 1; several, or a slice, are replaced together.
        by: as in `without_head`; a function is given (B, T, M).

    Raises:
        TypeError, ValueError: as `without_head`; when the model runs, an MLP that does not show its neurons, for
            example because their number M is the width D of the tokens.

    Source: Geva et al. 2021 (arXiv:2012.14913), who read them as the keys of a memory; Bau et al. 2020
        (arXiv:2009.05041), who remove single units.
    """
    return _of_parts(f"without_neurons({shown(layer)}, {shown(neurons)})", "neurons", layer, neurons, by)


def _of_parts(name: str, place: str, layer: Indices, parts: Indices, by: By) -> Intervention:
    """Replaces some of the heads at a place (B, h, T, ...), or some of the "neurons" (B, T, M)."""
    what, axis = ("neuron", 2) if place == "neurons" else ("head", 1)
    places, fill = need_indices(what, parts), _filling(by, place)

    def change(x: torch.Tensor, at: RunningLayer) -> torch.Tensor:
        where = torch.tensor(resolve_indices(what, places, x.shape[axis], name), device=x.device)
        changed = x.index_copy(axis, where, fill(x, at).index_select(axis, where).to(x))
        if place == "weights" and not sums_to_one(changed):
            raise ValueError(f"{name}: each row of the new weights must be at least 0 and sum to 1, as after a softmax")
        return changed

    return Intervention(name, place, need_indices("layer", layer), change, _pictures(by))


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
