"""Answers to exercise pretrained.block."""

import re

import torch

from answers import right, unforeseen, wrong
from vit_course import pretrained
from vit_course.pretrained.libraries import HUGGINGFACE_4

LAYERS = {
    "norm1": "layernorm_before",
    "attention.projection": "attention.output.dense",
    "norm2": "layernorm_after",
    "mlp.expand": "intermediate.dense",
    "mlp.contract": "output.dense",
}


def _converted(state, number, layers=LAYERS, order=("query", "key", "value"), join=torch.cat):
    begin = f"vit.encoder.layer.{number}."
    found = {f"{ours}.{kind}": state[f"{begin}{name}.{kind}"] for ours, name in layers.items() for kind in KINDS}
    for kind in KINDS:
        found[f"attention.qkv.{kind}"] = join([state[f"{begin}attention.attention.{part}.{kind}"] for part in order])
    return found


KINDS = ("weight", "bias")


@right("pretrained.block")
def built(state, number):
    return _converted(state, number)


@right("pretrained.block")
def by_the_table(state, number):
    begin = f"encoder.blocks.{number}."
    names = [f"{layer}.{kind}" for layer in HUGGINGFACE_4.in_block for kind in KINDS]
    return {name: torch.cat([state[key] for key in HUGGINGFACE_4.keys(begin + name)]) for name in names}


@right("pretrained.block")
def renamed(state, number):
    found, apart = {}, {}
    for key, value in state.items():
        if not key.startswith(f"vit.encoder.layer.{number}."):
            continue
        key = key.removeprefix(f"vit.encoder.layer.{number}.")
        if match := re.fullmatch(r"attention\.attention\.(query|key|value)\.(weight|bias)", key):
            apart[match[1], match[2]] = value
            continue
        for ours, theirs in LAYERS.items():
            if key.startswith(f"{theirs}."):
                found[key.replace(theirs, ours)] = value
    for kind in KINDS:
        found[f"attention.qkv.{kind}"] = torch.cat([apart[part, kind] for part in ("query", "key", "value")])
    return found


@right("pretrained.block")
def through_the_package(state, number):
    state = {key: value for key, value in state.items() if "encoder.layer." in key or "embeddings" in key}
    width = len(state["vit.embeddings.patch_embeddings.projection.bias"])
    state |= {"vit.layernorm.weight": torch.ones(width), "vit.layernorm.bias": torch.zeros(width)}
    model = pretrained.load_huggingface(state, num_heads=1, num_classes=2)
    return model.encoder.blocks[number].state_dict()


@wrong("pretrained.block", "next-block")
def counted_from_one(state, number):
    return _converted(state, (number + 1) % 12)


@wrong("pretrained.block", "last-block")
def overwritten_by_every_block(state, number):
    for i in range(12):
        found = _converted(state, i)
    return found


@wrong("pretrained.block", "first-block")
def number_ignored(state, number):
    return _converted(state, 0)


@wrong("pretrained.block", "a-later-block")
def searched_without_the_dot(state, number):
    found = {}
    for key, value in state.items():
        if key.startswith(f"vit.encoder.layer.{number}"):  # block 10 and block 11 too
            found[re.sub(r"^vit\.encoder\.layer\.\d+\.", "vit.encoder.layer.0.", key)] = value
    return _converted(found, 0)


@wrong("pretrained.block", "norms-swapped")
def norms_exchanged(state, number):
    return _converted(state, number, LAYERS | {"norm1": "layernorm_after", "norm2": "layernorm_before"})


@wrong("pretrained.block", "wrong-order")
def alphabetical(state, number):
    return _converted(state, number, order=sorted(("query", "key", "value")))


@wrong("pretrained.block", "wrong-order")
def values_second(state, number):
    return _converted(state, number, order=("query", "value", "key"))


@wrong("pretrained.block", "rows-alternate")
def interleaved(state, number):
    return _converted(state, number, join=lambda parts: torch.stack(parts, dim=1).flatten(0, 1))


@wrong("pretrained.block", "projection-transposed")
def projection_turned(state, number):
    found = _converted(state, number)
    return found | {"attention.projection.weight": found["attention.projection.weight"].T}


@wrong("pretrained.block", "transposed")
def queries_turned(state, number):
    return _converted(state, number, join=lambda parts: torch.cat([part.t() for part in parts]))


@wrong("pretrained.block", "wrong-shape")
def mlp_turned(state, number):
    found = _converted(state, number)
    return found | {
        "mlp.expand.weight": found["mlp.expand.weight"].T,
        "mlp.contract.weight": found["mlp.contract.weight"].T,
    }


@wrong("pretrained.block", "not-fused")
def left_as_three(state, number):
    found = _converted(state, number)
    for kind in KINDS:
        fused = found.pop(f"attention.qkv.{kind}")
        for part, value in zip(("query", "key", "value"), fused.chunk(3), strict=True):
            found[f"attention.{part}.{kind}"] = value
    return found


@wrong("pretrained.block", "biases-forgotten")
def weights_alone(state, number):
    return {key: value for key, value in _converted(state, number).items() if key.endswith("weight")}


@wrong("pretrained.block", "names-of-the-whole")
def with_the_number(state, number):
    return {f"encoder.blocks.{number}.{key}": value for key, value in _converted(state, number).items()}


@wrong("pretrained.block", "names-kept")
def prefix_taken_off(state, number):
    begin = f"vit.encoder.layer.{number}."
    return {key.removeprefix(begin): value for key, value in state.items() if key.startswith(begin)}


@wrong("pretrained.block", "wrong-names")
def another_name_for_the_norms(state, number):
    return {key.replace("norm", "ln"): value for key, value in _converted(state, number).items()}


@wrong("pretrained.block", "raised-error")
def newer_names(state, number):
    return {"norm1.weight": state[f"vit.layers.{number}.layernorm_before.weight"]}


@wrong("pretrained.block", "input-changed")
def taken_out(state, number):
    found = _converted(state, number)
    for key in list(state):
        if key.startswith(f"vit.encoder.layer.{number}."):
            state.pop(key)
    return found


@wrong("pretrained.block", "input-changed")
def struck_out(state, number):
    found = _converted(state, number)
    for key in state:
        if key.startswith(f"vit.encoder.layer.{number}."):
            state[key] = None  # done with
    return found


@wrong("pretrained.block", "returned-nothing")
def only_computed(state, number):
    _converted(state, number)


@unforeseen("pretrained.block")
def zeros_for_biases(state, number):
    return {k: v if k.endswith("weight") else torch.zeros_like(v) for k, v in _converted(state, number).items()}
