"""State dicts that are no plain ViT's: every key, shape and number is looked at."""

import collections
import re

import numpy as np
import published
import pytest
import torch
from published import PUBLISHED
from torch import nn

from vit_course import pretrained


def state_of(name: str) -> dict:
    return PUBLISHED[name].theirs().state_dict()


NAMED_DIFFERENTLY = [name for name in PUBLISHED if "DeiT" not in name]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED_DIFFERENTLY)
def test_every_key_is_needed_in_its_shape(name, thorough):
    case = PUBLISHED[name]
    state = case.rename(case.theirs().state_dict())
    for key, value in state.items():
        if value.numel() == 0:
            continue  # the class token of a mean, of no rows
        with pytest.raises(ValueError, match=f"^key '{re.escape(key)}' is missing"):
            case.load({other: state[other] for other in state if other != key}, case.heads, **case.load_options)
        for wrong in (torch.zeros(*value.shape, 2), value[..., 1:], value.new_zeros(())) if thorough else ():
            with pytest.raises(ValueError, match=r"shape.*\("):
                case.load({**state, key: wrong}, case.heads, **case.load_options)


NORM = "encoder.layers.encoder_layer_1.ln_2.bias"
FIRST = "encoder.layers.encoder_layer_0.self_attention.in_proj_bias"


def without(state, part):
    return {key: value for key, value in state.items() if part not in key}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: without(s, NORM), f"^key '{NORM}' is missing$"),
        (lambda s: {**s, "extra": torch.zeros(1)}, "^key 'extra' is left over: our ViT has no weight of this name$"),
        (lambda s: {**s, NORM: s[NORM][1:]}, rf"^key '{NORM}' has shape \(35,\), but \(36,\) is needed$"),
        (lambda s: {**s, NORM: s[NORM].half()}, r"has dtype torch.float16, the patch embedding torch.float32"),
        (lambda s: {key: value.to(torch.int8) for key, value in s.items()}, r"torch.int8: one float dtype is"),
        (lambda s: {**s, "conv_proj.weight": s["conv_proj.weight"].flatten(1)}, r"has shape \(36, 147\), but 4 axes"),
        # A whole block that is missing between two others.
        (lambda s: without(s, "encoder_layer_1."), r"key 'encoder.layers.encoder_layer_1.ln_1.weight' is missing"),
        (lambda s: without(s, "in_proj_bias"), f"key '{FIRST}' is missing"),
        (lambda s: without(s, "class_token"), "key 'class_token' is missing"),
    ],
)
def test_the_messages_of_a_key_that_does_not_fit(change, message):
    with pytest.raises(ValueError, match=message):
        pretrained.load_torchvision(change(state_of("torchvision")), 3)


def test_the_number_of_heads():
    state = state_of("timm")
    with pytest.raises(ValueError, match=r"^the number of heads is not in the weights: give num_heads, or the model"):
        pretrained.load_timm(state)
    with pytest.raises(ValueError, match=r"hidden_dim 36 is not a multiple of num_heads 5"):
        pretrained.load_timm(state, 5, pool="cls")


@pytest.mark.parametrize("name", ["torchvision", "timm", "Hugging Face", "vit-pytorch"])
def test_weights_without_a_head(name):
    load, state = PUBLISHED[name].load, state_of(name)
    bare = {key: value for key, value in state.items() if "head" not in key and "classifier" not in key}
    ours = load(bare, 3)
    assert ours.config.num_classes == 0 and ours.features(PUBLISHED[name].images()).shape[2] == 36
    with pytest.raises(ValueError, match="the model has no head and gives no logits"):
        ours(PUBLISHED[name].images())
    assert load(bare, 3, num_classes=7).config.num_classes == 7
    assert load(bare, 3, num_classes=0).config.num_classes == 0
    with pytest.raises(ValueError, match=r"num_classes is for weights without a head, but these have key '.*weight'"):
        load(state, 3, num_classes=7)


def test_what_is_no_state_dict():
    state, inside = state_of("timm"), r"'model' holds .*: is the state dict inside.* under 'model'"
    for load in (pretrained.load_torchvision, pretrained.load_timm, pretrained.load_huggingface,
                 pretrained.load_vit_pytorch):  # fmt: skip
        for given, message in (
            ({}, r"^the state dict is empty, but it must hold the weights"),
            (nn.Linear(2, 3), r"this is a Linear|a state dict is needed, as model.state_dict.* got a Linear"),
            ({**state, "blocks.1.norm1.bias": np.zeros(36)}, r"'blocks.1.norm1.bias' holds a ndarray, not a tensor$"),
            ({"model": collections.OrderedDict(state), "epoch": 3}, inside),
            ({"args": None, "model": nn.Linear(2, 3)}, inside),
            ({3: torch.zeros(1)}, r"key 3 holds a Tensor"),
        ):
            with pytest.raises(ValueError, match=message):
                load(given)


def test_vit_pytorch_of_other_sizes_than_said():
    words = r"has shape \(144, 36\), but \(108, 36\) is needed: all heads together are 48 wide, .* as hidden_dim, 36"
    with pytest.raises(ValueError, match=words):
        pretrained.load_vit_pytorch(published.vit_pytorch_vit(dim_head=16).state_dict(), 3)
    words = (
        r"49 numbers per patch are not a square of pixels with 3 channels, but \(36, 48\) would be: give in_channels"
    )
    with pytest.raises(ValueError, match=words):
        pretrained.load_vit_pytorch(published.vit_pytorch_vit(channels=1).state_dict(), 3)


@pytest.mark.parametrize("name", ["torchvision", "timm", "Hugging Face", "vit-pytorch"])
def test_arguments_that_are_none(name):
    load, state = PUBLISHED[name].load, state_of(name)
    bare = {key: value for key, value in state.items() if "head" not in key and "classifier" not in key}
    for value in (0, -1, True, 2.5, "3", [], 10**9):
        with pytest.raises(ValueError, match=r"^num_heads must be "):
            load(state, num_heads=value)
        if value != 0 or isinstance(value, bool):
            with pytest.raises(ValueError, match=r"^num_classes must be "):
                load(bare, 3, num_classes=value)
        if name == "vit-pytorch":
            with pytest.raises(ValueError, match=r"^in_channels must be "):
                load(state, 3, in_channels=value)


def unusual(value: torch.Tensor) -> dict:
    return {
        "on the device meta": value.to("meta"),
        "sparse_coo": value.to_sparse(),
        "quantised": torch.quantize_per_tensor(value, 0.1, 0, torch.qint8),
        "dtype torch.complex64": value.to(torch.complex64),
        "dtype torch.bool": value > 0,
        "dtype torch.float16": value.half(),
        "holds nan": value.where(value < value.max(), torch.nan),
        "holds inf": value.where(value < value.max(), torch.inf),
        "shape": value[:0],
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["torchvision", "timm", "Hugging Face", "vit-pytorch"])
def test_unusual_tensors(name):
    case = PUBLISHED[name]
    state = {key: value.clone() for key, value in state_of(name).items()}
    key = [key for key, value in state.items() if value.ndim == 2 and key.endswith("weight")][-1]
    for word, value in unusual(state[key]).items():
        with pytest.raises(ValueError, match=rf"^key '{re.escape(key)}' .*{word}"):
            case.load({**state, key: value}, 3)
    eights = {key: value.to(torch.float8_e4m3fn) for key, value in state.items()}
    with pytest.raises(ValueError, match=r"has dtype torch\.float8_e4m3fn, but one of float32, float16, bfloat16"):
        case.load(eights, 3)
    turned = {key: torch.nn.Parameter(value.t().contiguous().t() if value.ndim == 2 else value)
              for key, value in state.items()}  # fmt: skip
    assert not turned[key].is_contiguous() and turned[key].requires_grad
    ours, expected = case.load(turned, 3), case.load(state, 3)
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), expected.parameters(), strict=True))
