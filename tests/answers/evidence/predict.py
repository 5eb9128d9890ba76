"""Answers to exercise evidence.predict."""

import numpy as np
import torch

from answers import right, unforeseen, wrong

RIGHT_PREDICTIONS = {
    "head": 0,
    "mlp_2": 2,
    "values_4": 0,
    "values_4_logits": True,
    "patch_rows_4_logits": False,
    "patch_rows_3_logits": True,
}


@right("evidence.predict")
def as_written():
    return RIGHT_PREDICTIONS


@right("evidence.predict")
def with_reasons():
    L = 5
    later = range(2 + 1, L)  # the layers whose input changes with block 2's MLP
    return dict(
        head=len(range(L, L)), mlp_2=len(later), values_4=L - 5, values_4_logits=bool(1), patch_rows_4_logits=bool(0),
        patch_rows_3_logits=not False,
    )  # fmt: skip


@right("evidence.predict")
def as_tensors():
    return {name: torch.tensor(value) for name, value in RIGHT_PREDICTIONS.items()}


def _predict(slug, **changes):
    wrong("evidence.predict", slug)(lambda: RIGHT_PREDICTIONS | changes)


_predict("maps-follow-the-head", head=5)
_predict("last-map-follows-the-head", head=1)
_predict("backwards-in-the-model", mlp_2=5)
_predict("backwards-in-the-model", mlp_2=4)
_predict("map-after-its-own-mlp", mlp_2=3)
_predict("one-layer-only", mlp_2=1)
_predict("mlp-changes-no-map", mlp_2=0)
_predict("backwards-in-the-model", values_4=5)
_predict("values-in-the-weights", values_4=1)
_predict("map-for-the-layer", values_4_logits=False)
_predict("read-from-all-tokens", patch_rows_4_logits=True)
_predict("class-row-is-all", patch_rows_3_logits=False)
_predict("float-count", mlp_2=2.0)
_predict("wrong-type", patch_rows_4_logits="no")
_predict("wrong-keys", blocks=5)
_predict("backwards-in-the-model", values_4=3)
_predict("maps-follow-the-head", head=4)
right("evidence.predict")(lambda: {name: np.array(value) for name, value in RIGHT_PREDICTIONS.items()})
unforeseen("evidence.predict")(lambda: RIGHT_PREDICTIONS | {"values_4": 6})
