"""Checks of chapter 09: published weights."""

from collections.abc import Mapping

import torch
from torch import nn

from vit_course import pretrained
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools import Mistake, agree, call, describe, equal, same_function, tensor
from vit_course.config import ViTConfig
from vit_course.pretrained.libraries import HUGGINGFACE_4
from vit_course.vit import ViT


@exercise("Three into one", difficulty=1, minutes=5)
def qkv(answer, draw):
    """`answer(query, key, value)`: (D, D) each -> (3D, D), or (D,) each -> (3D,)."""
    small, large = draw.sizes(2)
    for axes, shapes in (("(3D, D)", [(large, large), (small, small)]), ("(3D,)", [(large,), (small,)])):
        draws = [tuple(draw.normal(*shape) for _ in range(3)) for shape in shapes]
        same_function(answer, lambda query, key, value: torch.cat([query, key, value]), draws, _JOINED, axes)


_PARTS = {"q": "query", "k": "key", "v": "value"}


def _turned(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.T if tensor.ndim == 2 else tensor


_JOINED = [
    *(
        Mistake(
            f"order-{''.join(order)}",
            f"The three are joined in the order {', '.join(_PARTS[part] for part in order)}.",
            lambda q, k, v, order=order: torch.cat([{"q": q, "k": k, "v": v}[part] for part in order]),
        )
        for order in ("qvk", "kqv", "kvq", "vqk", "vkq")
    ),
    Mistake(
        "side-by-side",
        "The weights stand side by side: a layer with this weight has 3D inputs.",
        lambda q, k, v: torch.cat([q, k, v], dim=-1),
    ),
    Mistake(
        "rows-alternate",
        "The rows alternate, one of each in turn: the first D outputs are a part of each of the three.",
        lambda q, k, v: torch.stack([q, k, v], dim=1).flatten(0, 1),
    ),
    Mistake(
        "columns-alternate",
        "The numbers of the three alternate within each row.",
        lambda q, k, v: torch.stack([q, k, v], dim=-1).reshape(3 * len(q), *q.shape[1:]),
    ),
    Mistake(
        "transposed",
        "Each of the three weights is transposed: rows and columns, outputs and inputs, are exchanged.",
        lambda q, k, v: torch.cat([_turned(q), _turned(k), _turned(v)]),
    ),
    Mistake(
        "transposed-after",
        "The weights are joined rightly, and then transposed.",
        lambda q, k, v: _turned(torch.cat([q, k, v])),
    ),
    Mistake(
        "stacked",
        "The three lie on an axis of their own: the result has an axis more than a weight.",
        lambda q, k, v: torch.stack([q, k, v]),
    ),
    Mistake("added", "The three are added, so none of them can be had back.", lambda q, k, v: q + k + v),
]


@exercise("A block of an older file", difficulty=2, minutes=12)
def block(answer, draw):
    """`answer(state, number)`: a state dict of Hugging Face's older names -> that of one of our blocks."""
    for number in (2, 1, 11, 0):
        state, blocks = _older(draw)
        received, expected = call(answer, state, number), blocks[number]
        _names(received, expected, number)
        if all(agree(received[key], expected[key]) for key in expected):
            continue
        for slug, sentence, wrong in _foreseen(blocks, number):
            if all(agree(received[key], wrong[key]) for key in expected):
                raise Wrong(slug, sentence, [f"Input:    number = {number}"])
        for key, value in expected.items():
            received_value = tensor(received[key], value.shape, what=f"{key!r}", dtype=None)
            equal(received_value, value, sentence=f"{key!r} has the right shape, and the wrong numbers.", what=key)


def _older(draw) -> tuple[dict, list[dict]]:
    # (a whole state dict under the older names, our block's state dict by number), all numbers drawn.
    heads, head_dim, mlp = draw.sizes(3)
    width = heads * head_dim
    config = ViTConfig(8, 4, 5, width, num_layers=12, num_heads=heads, mlp_dim=mlp + width)
    ours = {key: draw.normal(*value.shape) for key, value in ViT(config).state_dict().items()}
    state = {}
    for key, value in ours.items():
        names = HUGGINGFACE_4.keys(key)
        state.update(zip(names, (part.clone() for part in value.chunk(len(names))), strict=True))
    begin = "encoder.blocks.{}."
    blocks = [
        {key.removeprefix(begin.format(i)): v for key, v in ours.items() if key.startswith(begin.format(i))}
        for i in range(12)
    ]
    return state, blocks


def _names(received, expected: dict, number: int) -> None:
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, Mapping):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a dict is expected.")
    if set(received) == set(expected):
        return
    missing = [key for key in expected if key not in received]
    extra = [key for key in received if key not in expected]
    details = [
        f"Missing:       {missing[0] if missing else 'none'}",
        f"Not asked for: {describe(extra[0]) if extra else 'none'}",
    ]
    words = [key for key in extra if isinstance(key, str)]
    if any(key.startswith("encoder.blocks.") for key in words):
        raise Wrong(
            "names-of-the-whole", "The names are those of a whole model: a block does not know its number.", details
        )
    if any("layernorm_" in key or "dense" in key for key in words):
        raise Wrong("names-kept", "Names of the older file are still in the result.", details)
    if "attention.qkv.weight" in missing and "mlp.expand.weight" not in missing:
        raise Wrong(
            "not-fused", "Our block has one tensor for query, key and value; the result has none of its name.", details
        )
    if missing and all(key.endswith(".bias") for key in missing):
        raise Wrong("biases-forgotten", "Weights came over, and biases did not.", details)
    raise Wrong("wrong-names", "The names are not those of our block.", details)


def _foreseen(blocks: list[dict], number: int):
    right, other = blocks[number], blocks[(number + 1) % 12]
    yield "next-block", "These are the tensors of the next block: blocks are counted from 0.", other
    if number == 1:
        for ten in (10, 11):
            sentence = f"These are the tensors of block {ten}, whose number begins as that of the block asked for."
            yield "a-later-block", sentence, blocks[ten]
    yield "last-block", "Whatever block is asked for, these are the tensors of the last one.", blocks[11]
    yield "first-block", "Whatever block is asked for, these are the tensors of the first one.", blocks[0]
    swapped = {"norm1": "norm2", "norm2": "norm1"}
    moved = {key: right[key.replace(key[:5], swapped.get(key[:5], key[:5]))] for key in right}
    yield "norms-swapped", "The norm before attention and the one after it are exchanged.", moved
    fused = {key: right[key].chunk(3) for key in right if ".qkv." in key}
    for order in ((0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
        words = ", ".join(list(_PARTS.values())[i] for i in order)
        mixed = {key: torch.cat([parts[i] for i in order]) for key, parts in fused.items()}
        yield "wrong-order", f"The fused tensors hold {words}, in this order.", right | mixed
    alternating = {key: torch.stack(parts, dim=1).flatten(0, 1) for key, parts in fused.items()}
    yield "rows-alternate", "The rows of query, key and value alternate in the fused tensors.", right | alternating
    turned = {key: value.T for key, value in right.items() if key == "attention.projection.weight"}
    yield "projection-transposed", "The weight of attention's output projection is transposed.", right | turned
    turned = {key: torch.cat([part.T for part in parts]) for key, parts in fused.items() if key.endswith("weight")}
    yield "transposed", "The weights of query, key and value are transposed.", right | turned


@exercise("A conversion, mended", difficulty=3, minutes=15)
def mended(answer, draw):
    """`answer(state, config)`: torchvision's state dict and the right config -> our `ViT` with the same weights."""
    for _ in range(2):
        right, state = _published(draw)
        model = call(answer, state, right.config)
        if model is None:
            raise Wrong("returned-nothing", "The result is None: nothing was returned.")
        if not isinstance(model, nn.Module):
            raise Wrong("wrong-type", f"The result is {describe(model)} where a model is expected.")
        if model.training:
            raise Wrong("training-mode", "The model is in training mode.")
        images = draw.normal(2, right.config.in_channels, *right.config.image_size)
        try:
            comparison = pretrained.first_difference(model, right, images)
        except ValueError as error:
            raise Wrong("wrong-behaviour", "The model is not the one that was converted.", _both(str(error))) from error
        if comparison.first is None:
            continue
        name = comparison.first.name
        for end, (slug, sentence) in _FIRST.items():
            if name.endswith(end):
                raise Wrong(slug, sentence, [f"The first difference is at {name!r}."])
        raise Wrong("wrong-behaviour", "The two models differ.", _both(f"they first differ at {name!r}"))


# By how the name of the first stage that differs ends.
_FIRST = {
    "patch embedding": ("patches-differ", "The patch tokens differ already: the weights did not arrive."),
    "class token and positions": (
        "tokens-differ",
        "The patch tokens are right, and what enters block 0 is not: class token or positions are not as they were.",
    ),
    "norm 1": ("norm-differs", "The same tokens enter the first norm and other tokens leave it."),
    ("queries", "keys", "values"): (
        "qkv-differs",
        "The same tokens enter attention, and its queries, keys or values are others.",
    ),
    ("heads side by side", "attention"): (
        "heads-differ",
        "Queries, keys and values agree, and what the heads make of them does not.",
    ),
    "attention output": (
        "projection-differs",
        "What the heads give is right, and what the output projection makes of it is not.",
    ),
}


def _both(received: str) -> list[str]:
    return ["Expected: the same tokens behind every part, for the same images", f"Received: {received}"]


def _published(draw) -> tuple[ViT, dict]:
    # A small ViT with all its numbers drawn, and its state dict under torchvision's names.
    heads, head_dim, patch, rows, layers = draw.sizes(5, low=2, high=6)
    width = heads * head_dim
    config = ViTConfig(rows * patch, patch, 7, width, num_layers=min(layers, 3), num_heads=heads, mlp_dim=width + 3)
    model = ViT(config).eval()
    model.load_state_dict({key: draw.normal(*value.shape) for key, value in model.state_dict().items()})
    return model, pretrained.to_torchvision(model)
