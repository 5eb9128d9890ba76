"""Answers to exercise pretrained.unchanged."""

import torch

from answers import right, unforeseen, wrong

PREDICTED = {"key_bias": True, "scaled": True, "heads": False, "hidden": True, "gelu": False, "norm": True}


@right("pretrained.unchanged")
def as_written():
    return PREDICTED


@right("pretrained.unchanged")
def as_tensors():
    return {name: torch.tensor(value) for name, value in PREDICTED.items()}


@right("pretrained.unchanged")
def by_linearity():
    return {name: name not in ("heads", "gelu") for name in PREDICTED}


def _predict(slug, **changes):
    wrong("pretrained.unchanged", slug)(lambda: PREDICTED | changes)


_predict("softmax-misread", key_bias=False)
_predict("product-misread", scaled=False)
_predict("projection-forgotten", heads=True)
_predict("gelu-misread", gelu=True)
_predict("scale-misread", norm=False)
_predict("wrong-type", gelu="no")
_predict("wrong-type", gelu=...)
_predict("wrong-keys", relu=True)
_predict("softmax-misread", **dict.fromkeys(PREDICTED, False))
wrong("pretrained.unchanged", "returned-nothing")(lambda: None)
unforeseen("pretrained.unchanged")(lambda: PREDICTED | {"hidden": False})
