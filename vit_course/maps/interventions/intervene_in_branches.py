"""Interventions inside the branches of a layer: queries, keys and values of its heads, and neurons of its MLP."""

from vit_course._support.inputs.rules import one_of, shown
from vit_course.maps.interventions.indices import Places
from vit_course.maps.interventions.intervene import By, of_parts
from vit_course.maps.interventions.intervention import Intervention

PLACE = one_of("queries", "keys", "values")


def replaced(place: str, layer: Places, head: Places, by: By = "zero") -> Intervention:
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
    return of_parts(f"replaced({place!r}, {shown(layer)}, {shown(head)})", place, layer, head, by)


def without_neurons(layer: Places, neurons: Places, by: By = "zero") -> Intervention:
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
    return of_parts(f"without_neurons({shown(layer)}, {shown(neurons)})", "neurons", layer, neurons, by)
