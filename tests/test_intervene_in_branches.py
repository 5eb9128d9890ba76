"""Queries, keys, values and neurons replaced: equal to attention and MLPs computed by hand, or refused by name."""

import copy
from functools import partial

import by_hand
import published
import pytest
import timm
import torch
import transformers
from by_hand import OURS, VIT_PYTORCH
from published import shaken
from test_intervene import mean
from test_intervene_refused import Net
from test_recording import hooks
from torch import nn

from vit_course import attention
from vit_course.maps import hide, intervene, record_attention, replaced, reweighted, without_head, without_neurons

pytestmark = pytest.mark.slow

LIBRARIES = by_hand.LIBRARIES | {"vit-pytorch": VIT_PYTORCH}
PLACES = ("queries", "keys", "values")
SINGLE = dict(rtol=1e-5, atol=1e-6)  # of Hugging Face's eager attention, whose softmax is in float32
close = partial(torch.testing.assert_close, rtol=1e-10, atol=1e-10)


@torch.no_grad()
def changed(model, interventions, images):
    before = hooks(model)
    with intervene(model, interventions):
        out = published.logits(model, images)
    assert hooks(model) == before and (out - published.logits(model, images)).abs().max() > 1e-5
    return out


def double(library):
    return library.model().double(), library.images().double(), library.images(1).double()


def with_heads(library, model, layer, change):
    """A copy whose attention is computed by hand, with what `change` makes of queries, keys and values."""

    def other(x, _):
        own = by_hand_attention
        return by_hand.attended(library, own, *change(*by_hand.projected(library, own, x)))

    by_hand_attention = copy.deepcopy(library.block(model, layer).get_submodule(library.attention))
    return by_hand.with_part(library, model, layer, library.attention, other)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("limit", [0, 10_000])  # ours: the fused path, the explicit path
@torch.no_grad()
def test_queries_keys_and_values(name, place, limit, monkeypatch):
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", limit)
    library, at = LIBRARIES[name], PLACES.index(place)
    model, images, picture = double(library)
    own = library.block(model, 1).get_submodule(library.attention)
    theirs = by_hand.projected(library, own, by_hand.came_in(library, model, 1, library.attention, picture))[at]
    for by, fill in (
        ("zero", torch.zeros_like),
        ("token mean", lambda x: x.mean(dim=2, keepdim=True).expand_as(x)),
        (picture, theirs.expand_as),
        (lambda x: x.roll(1, 2), lambda x: x.roll(1, 2)),
    ):

        def change(*qkv, fill=fill):
            qkv = [one.clone() for one in qkv]
            qkv[at][:, [0, 2]] = fill(qkv[at])[:, [0, 2]]
            return qkv

        other = with_heads(library, model, 1, change)
        found = changed(model, [replaced(place, 1, [0, 2], by)], images)
        close(found, published.logits(other, images), **(SINGLE if name == "huggingface eager" else {}))
    nested = [replaced("queries", 1, 0), replaced("values", 1, slice(None), lambda x: 2 * x), without_head(1, 2)]
    with intervene(model, nested[:1]), intervene(model, nested[1:]):
        twice = published.logits(model, images)
    close(twice, changed(model, nested, images))


@pytest.mark.parametrize("name", LIBRARIES)
@torch.no_grad()
def test_weights_that_follow_are_recorded(name):
    library = LIBRARIES[name]
    model, images, _ = double(library)
    with intervene(model, [replaced("queries", 1, 2), hide(0)]), record_attention(model) as maps:
        model(images)
    even = torch.full((library.num_tokens,), 1 / (library.num_tokens - 1)).to(maps.stacked())
    even[1] = 0
    close(maps.stacked()[:, 1, 2], even.expand(2, library.num_tokens, -1), rtol=0, atol=1e-7)
    with intervene(model, [replaced("keys", 1, 0)]), intervene(model, [reweighted(1, 1)]):
        twice = published.logits(model, images)
    close(twice, changed(model, [replaced("keys", 1, 0), reweighted(1, 1)], images))


@pytest.mark.parametrize("name", LIBRARIES)
@torch.no_grad()
def test_neurons(name):
    library = LIBRARIES[name]
    model, images, picture = double(library)
    theirs = []
    hook = by_hand.last_linear(library, model, 1).register_forward_pre_hook(lambda _, x: theirs.append(x[0]))
    model(picture)
    hook.remove()
    assert theirs[0].shape[2] in (20, 72)
    for by, fill in (
        ("zero", torch.zeros_like),
        ("token mean", mean),
        (picture, theirs[0].expand_as),
        (lambda x: -x, lambda x: -x),
    ):

        def put(_, given, fill=fill):
            x = given[0].clone()
            x[..., [3, 17]] = fill(x)[..., [3, 17]]
            return (x,)

        other = copy.deepcopy(model)
        by_hand.last_linear(library, other, 1).register_forward_pre_hook(put)
        close(changed(model, [without_neurons(1, [3, 17], by)], images), published.logits(other, images))


TIMM = dict(img_size=(16, 24), patch_size=8, depth=2, embed_dim=24, num_heads=2, num_classes=5)
HUGGINGFACE = dict(image_size=21, patch_size=7, num_hidden_layers=2, num_attention_heads=2, hidden_size=24)
OTHERS = {
    "SwiGLU": lambda: timm.create_model("eva02_tiny_patch14_224", **TIMM),
    "quick GELU": lambda: timm.create_model("vit_base_patch16_clip_quickgelu_224", **TIMM),
    "packed SwiGLU": lambda: transformers.Dinov2Model(transformers.Dinov2Config(**HUGGINGFACE, use_swiglu_ffn=True)),
    "LayerScale": lambda: timm.create_model("vit_small_patch14_dinov2", **TIMM),
}


@pytest.mark.parametrize("name", OTHERS)
@torch.no_grad()
def test_neurons_of_other_kinds(name):
    model = shaken(OTHERS[name]()).double()
    images = torch.randn(2, 3, *((21, 21) if name == "packed SwiGLU" else (16, 24))).double()
    block = [*(model.encoder.layer if hasattr(model, "encoder") else model.blocks)][1]
    last = [module for module in block.mlp.modules() if isinstance(module, nn.Linear)][-1]
    ends = []
    block.register_forward_hook(lambda *given: ends.append(given[2]))
    with intervene(model, [without_neurons(1, slice(2, None), "token mean")]):
        model(images)
    hook = last.register_forward_pre_hook(lambda _, x: (torch.cat((x[0][..., :2], mean(x[0][..., 2:])), dim=2),))
    model(images)
    hook.remove()
    model(images)
    found, expected, before = (end[0] if isinstance(end, tuple) else end for end in ends)
    close(found, expected)
    assert (found - before).abs().max() > 1e-3


@torch.no_grad()
def test_other_linear_layers_have_no_neurons():
    model, images = shaken(published.vit_pytorch_vit((14, 21), dim_head=16)), torch.randn(2, 3, 14, 21)
    for _, mlp in model.transformer.layers:  # heads of 48 in all, and an MLP of three layers
        mlp.net = nn.Sequential(mlp.net[0], nn.Linear(36, 24), nn.GELU(), nn.Linear(24, 20), nn.GELU(), mlp.net[4])
    found = changed(model, [without_neurons(1, 19)], images)
    model.transformer.layers[1][1].net[5].weight[:, 19] = 0
    close(found, model(images), rtol=1e-5, atol=1e-6)


CANNOT = {"queries": "not show its queries and keys", "keys": "not show its queries and keys",
          "values": "not show its values", "neurons": "not show the neurons of its MLP"}  # fmt: skip


@pytest.mark.parametrize(
    ("how", "refused"),
    [
        ("relu", {"values"}),
        ("by hand", {"values"}),
        ("flat", {"values"}),
        ("twice", {"queries", "keys"}),
        ("values twice", {"values"}),
        ("values first", {"values"}),
        ("", set()),
    ],
)
@torch.no_grad()
def test_layers_of_another_kind(how, refused):
    model, x = Net(how), torch.randn(2, 5, 36)
    for place in (*PLACES, "neurons"):  # an MLP of one layer has none
        one = without_neurons([0, 1], 3) if place == "neurons" else replaced(place, [0, 1], 1, "token mean")
        if place in refused or place == "neurons":
            layer = 0 if place == "neurons" else 1
            with pytest.raises(ValueError, match=rf"layer {layer} .*{CANNOT[place]}"), intervene(model, [one]):
                model(x)
        else:
            with intervene(model, [one]):
                assert not torch.allclose(model(x), model(x) * 0)


@torch.no_grad()
def test_products_as_einsum():
    x = torch.randn(2, 5, 36)
    model, other = Net("einsum"), Net("")
    other.load_state_dict(model.state_dict())
    for place in PLACES:
        for by in ("zero", "token mean", lambda y: y.roll(1, 2)):
            with intervene(model, [replaced(place, 1, [0, 2], by)]), intervene(other, [replaced(place, 1, [0, 2], by)]):
                found, expected = model(x), other(x)
            close(found, expected, rtol=1e-5, atol=1e-6)


def test_what_is_refused():
    model, images = OURS.model(), OURS.images()
    with pytest.raises(ValueError, match="place must be 'queries', 'keys' or 'values', got 'heads'"):
        replaced("heads", 0, 0)
    with pytest.raises(ValueError, match="neuron must be an int of at least 0, several such ints or a slice, got -1"):
        without_neurons(0, -1)
    for one, message in (
        (replaced("keys", 0, 3), r"replaced\('keys', 0, 3\): head must be from 0 to 2, got 3"),
        (without_neurons(0, 20), r"without_neurons\(0, 20\): neuron must be from 0 to 19, got 20"),
    ):
        with pytest.raises(ValueError, match=message), intervene(model, [one]):
            model(images)
    square = published.huggingface_vit()
    square.config.intermediate_size = 36
    square = type(square)(square.config).eval()
    with (
        pytest.raises(ValueError, match=r"without_neurons\(1, 0\): layer 1 .*with M not equal to D"),
        intervene(square, [without_neurons(1, 0)]),
    ):
        square(torch.randn(1, 3, 21, 21))
