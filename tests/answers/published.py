"""Answers to the exercises of chapter 09."""

import re
from dataclasses import replace

import torch
from einops import pack, rearrange
from torch import nn

from answers import right, unforeseen, wrong
from vit_course import pretrained
from vit_course.pretrained.libraries import HUGGINGFACE_4, TORCHVISION
from vit_course.vit import ViT

# ---- qkv


@right("published.qkv")
def joined(query, key, value):
    return torch.cat([query, key, value], dim=0)


@right("published.qkv")
def filled(query, key, value):
    width = len(query)
    result = query.new_empty(3 * width, *query.shape[1:])
    for i, part in enumerate((query, key, value)):
        result[i * width : (i + 1) * width] = part
    return result


@right("published.qkv")
def stacked_and_flattened(query, key, value):
    return torch.stack([query, key, value]).flatten(0, 1)


@right("published.qkv")
def packed(query, key, value):
    return pack([query, key, value], "* d" if query.ndim == 2 else "*")[0]


@right("published.qkv")
def rearranged(query, key, value):
    return rearrange([query, key, value], "part row ... -> (part row) ...")


for _order in ("qvk", "kqv", "kvq", "vqk", "vkq"):

    @wrong("published.qkv", f"order-{_order}")
    def in_another_order(query, key, value, order=_order):
        return torch.cat([{"q": query, "k": key, "v": value}[part] for part in order])


@wrong("published.qkv", "side-by-side")
def beside(query, key, value):
    return torch.hstack([query, key, value])


@wrong("published.qkv", "rows-alternate")
def row_by_row(query, key, value):
    return torch.stack([query, key, value], dim=1).reshape(-1, *query.shape[1:])


@wrong("published.qkv", "columns-alternate")
def number_by_number(query, key, value):
    return torch.stack([query, key, value], dim=-1).reshape(3 * len(query), *query.shape[1:])


@wrong("published.qkv", "transposed")
def each_turned(query, key, value):
    return torch.cat([part.t() for part in (query, key, value)])  # t() leaves a vector as it is


@wrong("published.qkv", "transposed-after")
def turned_at_the_end(query, key, value):
    return torch.cat([query, key, value]).t()


@wrong("published.qkv", "stacked")
def one_axis_more(query, key, value):
    return torch.stack((query, key, value))


@wrong("published.qkv", "added")
def summed(query, key, value):
    return query + key + value


@wrong("published.qkv", "gradient-cut")
def detached(query, key, value):
    return torch.cat([query, key, value]).detach()


@wrong("published.qkv", "wrong-type")
def left_apart(query, key, value):
    return query, key, value


@wrong("published.qkv", "raised-error")
def weights_only(query, key, value):
    return torch.cat([query[:, :], key[:, :], value[:, :]])


@unforeseen("published.qkv")
def scaled(query, key, value):
    return torch.cat([query / len(query) ** 0.5, key, value])


# ---- block

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


@right("published.block")
def built(state, number):
    return _converted(state, number)


@right("published.block")
def by_the_table(state, number):
    begin = f"encoder.blocks.{number}."
    names = [f"{layer}.{kind}" for layer in HUGGINGFACE_4.in_block for kind in KINDS]
    return {name: torch.cat([state[key] for key in HUGGINGFACE_4.keys(begin + name)]) for name in names}


@right("published.block")
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


@right("published.block")
def through_the_package(state, number):
    state = {key: value for key, value in state.items() if "encoder.layer." in key or "embeddings" in key}
    width = len(state["vit.embeddings.patch_embeddings.projection.bias"])
    state |= {"vit.layernorm.weight": torch.ones(width), "vit.layernorm.bias": torch.zeros(width)}
    model = pretrained.load_huggingface(state, num_heads=1, num_classes=2)
    return model.encoder.blocks[number].state_dict()


@wrong("published.block", "next-block")
def counted_from_one(state, number):
    return _converted(state, (number + 1) % 12)


@wrong("published.block", "last-block")
def overwritten_by_every_block(state, number):
    for i in range(12):
        found = _converted(state, i)
    return found


@wrong("published.block", "first-block")
def number_ignored(state, number):
    return _converted(state, 0)


@wrong("published.block", "a-later-block")
def searched_without_the_dot(state, number):
    found = {}
    for key, value in state.items():
        if key.startswith(f"vit.encoder.layer.{number}"):  # block 10 and block 11 too
            found[re.sub(r"^vit\.encoder\.layer\.\d+\.", "vit.encoder.layer.0.", key)] = value
    return _converted(found, 0)


@wrong("published.block", "norms-swapped")
def norms_exchanged(state, number):
    return _converted(state, number, LAYERS | {"norm1": "layernorm_after", "norm2": "layernorm_before"})


@wrong("published.block", "wrong-order")
def alphabetical(state, number):
    return _converted(state, number, order=sorted(("query", "key", "value")))


@wrong("published.block", "wrong-order")
def values_second(state, number):
    return _converted(state, number, order=("query", "value", "key"))


@wrong("published.block", "rows-alternate")
def interleaved(state, number):
    return _converted(state, number, join=lambda parts: torch.stack(parts, dim=1).flatten(0, 1))


@wrong("published.block", "projection-transposed")
def projection_turned(state, number):
    found = _converted(state, number)
    return found | {"attention.projection.weight": found["attention.projection.weight"].T}


@wrong("published.block", "transposed")
def queries_turned(state, number):
    return _converted(state, number, join=lambda parts: torch.cat([part.t() for part in parts]))


@wrong("published.block", "wrong-shape")
def mlp_turned(state, number):
    found = _converted(state, number)
    return found | {
        "mlp.expand.weight": found["mlp.expand.weight"].T,
        "mlp.contract.weight": found["mlp.contract.weight"].T,
    }


@wrong("published.block", "not-fused")
def left_as_three(state, number):
    found = _converted(state, number)
    for kind in KINDS:
        fused = found.pop(f"attention.qkv.{kind}")
        for part, value in zip(("query", "key", "value"), fused.chunk(3), strict=True):
            found[f"attention.{part}.{kind}"] = value
    return found


@wrong("published.block", "biases-forgotten")
def weights_alone(state, number):
    return {key: value for key, value in _converted(state, number).items() if key.endswith("weight")}


@wrong("published.block", "names-of-the-whole")
def with_the_number(state, number):
    return {f"encoder.blocks.{number}.{key}": value for key, value in _converted(state, number).items()}


@wrong("published.block", "names-kept")
def prefix_taken_off(state, number):
    begin = f"vit.encoder.layer.{number}."
    return {key.removeprefix(begin): value for key, value in state.items() if key.startswith(begin)}


@wrong("published.block", "wrong-names")
def another_name_for_the_norms(state, number):
    return {key.replace("norm", "ln"): value for key, value in _converted(state, number).items()}


@wrong("published.block", "raised-error")
def newer_names(state, number):
    return {"norm1.weight": state[f"vit.layers.{number}.layernorm_before.weight"]}


@wrong("published.block", "input-changed")
def taken_out(state, number):
    found = _converted(state, number)
    for key in list(state):
        if key.startswith(f"vit.encoder.layer.{number}."):
            state.pop(key)
    return found


@wrong("published.block", "input-changed")
def struck_out(state, number):
    found = _converted(state, number)
    for key in state:
        if key.startswith(f"vit.encoder.layer.{number}."):
            state[key] = None  # done with
    return found


@wrong("published.block", "returned-nothing")
def only_computed(state, number):
    _converted(state, number)


@unforeseen("published.block")
def zeros_for_biases(state, number):
    return {k: v if k.endswith("weight") else torch.zeros_like(v) for k, v in _converted(state, number).items()}


# ---- mended


def _loaded(state, config, change=None):
    model = ViT(config)
    found = {}
    for key in model.state_dict():
        (theirs,) = TORCHVISION.keys(key)
        found[key] = state[theirs].clone()
    if change:
        change(found)
    model.load_state_dict(found)
    return model.eval()


@right("published.mended")
def names_alone(state, config):
    return _loaded(state, config)


@right("published.mended")
def by_the_package(state, config):
    return pretrained.load_torchvision(state, num_heads=config.num_heads)


@right("published.mended")
def copied_in_place(state, config):
    model = ViT(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(state[TORCHVISION.keys(name)[0]])
    return model


@wrong("published.mended", "tokens-differ")
def epsilon_and_projection_mended(state, config):
    def class_row_last(found):
        found["positions.table"] = found["positions.table"].roll(1, dims=1)

    return _loaded(state, config, class_row_last)


@wrong("published.mended", "tokens-differ")
def nothing_mended(state, config):
    def all_three(found):
        found["positions.table"] = found["positions.table"].roll(1, dims=1)
        _turn(found, config)

    return _loaded(state, replace(config, norm_epsilon=1e-5), all_three)


@wrong("published.mended", "tokens-differ")
def class_token_forgotten(state, config):
    return _loaded(state, config, lambda found: found["class_token.token"].zero_())


@wrong("published.mended", "norm-differs")
def epsilon_left(state, config):
    return _loaded(state, replace(config, norm_epsilon=nn.LayerNorm(1).eps))


@wrong("published.mended", "norm-differs")
def epsilon_of_another_library(state, config):
    return _loaded(state, replace(config, norm_epsilon=1e-12), lambda found: _turn(found, config))


def _turn(found, config):
    for number in range(config.num_layers):
        key = f"encoder.blocks.{number}.attention.projection.weight"
        found[key] = found[key].T


@wrong("published.mended", "projection-differs")
def projection_left(state, config):
    return _loaded(state, config, lambda found: _turn(found, config))


@wrong("published.mended", "qkv-differs")
def order_changed(state, config):
    def swap(found):
        for key in found:
            if ".qkv." in key:
                q, k, v = found[key].chunk(3)
                found[key] = torch.cat([q, v, k])

    return _loaded(state, config, swap)


@wrong("published.mended", "heads-differ")
def heads_changed(state, config):
    return _loaded(state, replace(config, num_heads=1))


@wrong("published.mended", "patches-differ")
def never_loaded(state, config):
    return ViT(config).eval()


@wrong("published.mended", "training-mode")
def in_training(state, config):
    return _loaded(state, config).train()


@wrong("published.mended", "input-changed")
def in_place(state, config):
    for value in state.values():
        value.mul_(1.5)
    return _loaded(state, config)


@wrong("published.mended", "wrong-type")
def the_dict(state, config):
    return _loaded(state, config).state_dict()


@wrong("published.mended", "returned-nothing")
def forgot_return(state, config):
    _loaded(state, config)


@unforeseen("published.mended")
def another_gelu(state, config):
    return _loaded(state, replace(config, gelu="tanh"))


@unforeseen("published.mended")
def no_vit(state, config):
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(config.num_classes)).eval()
