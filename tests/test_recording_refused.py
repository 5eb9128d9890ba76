"""Attention written by hand, hidden, compiled or of 16 bits: recorded whole and placed, or refused with the reason."""

import copy
import warnings

import pytest
import timm
import torch
import torch.nn.functional as F
import transformers
from test_recording import recorded
from torch import nn

from vit_course.attention import SelfAttention
from vit_course.maps.attention_gradients import attention_gradients

SIZES = dict(img_size=(48, 32), patch_size=8, depth=3, embed_dim=12, num_heads=2, num_classes=5)
GRID, T, CLASS = (6, 4), 25, ("class token",)


def softmaxed(scores, how):
    """The same weights by all the ways that there are."""
    if how == "by hand":
        weights = (scores - scores.amax(-1, keepdim=True)).exp()
        return weights / weights.sum(-1, keepdim=True)
    ways = {
        "torch": lambda: torch.softmax(scores, 3),
        "functional": lambda: F.softmax(scores, dim=-1),
        "module": lambda: nn.Softmax(dim=-1)(scores),
        "logsumexp": lambda: (scores - scores.logsumexp(-1, keepdim=True)).exp(),
    }
    return ways.get(how, lambda: scores.softmax(-1))()


class Layer(nn.Module):
    """Two heads of width 6 over (B, T, 12), one step of which goes by `how`; its name does not say that it attends."""

    def __init__(self, how):
        super().__init__()
        self.qkv = nn.Linear(12, 36)
        self.mix = nn.Parameter(torch.randn(2, 2))
        self.how, self.kept = how, None

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, 2, 6)).permute(2, 0, 3, 1, 4)  # each (B, h, T, d)
        if self.how == "channels":
            return ((q.mT @ k).softmax(-1) @ v.mT).permute(0, 3, 1, 2).flatten(2)
        if self.how == "relu":
            return ((q @ k.mT).relu() @ v).transpose(1, 2).flatten(2)
        if self.how == "keys":
            return (q @ (k.softmax(-1).mT @ v)).transpose(1, 2).flatten(2)
        weights = softmaxed(q @ k.mT / 6**0.5, self.how)
        self.kept = weights.detach()
        if self.how == "gated":
            weights = weights * torch.sigmoid(x.mean())
        if self.how == "put right again":  # as ConViT puts together what is seen and where it lies
            weights = 0.7 * weights + 0.3 * softmaxed(k @ k.mT, "method")
            weights = self.kept = weights / weights.sum(-1, keepdim=True)
        if self.how == "mixed heads":
            weights = torch.einsum("bhqk,hg->bgqk", weights, self.mix)
        if self.how == "einsum":
            out = torch.einsum("bhqk,bhkd->bhqd", weights, v)
        elif self.how == "values first":
            out = (v.mT @ weights.mT).mT
        elif self.how == "values twice":
            out = weights @ v + weights @ k
        elif self.how == "no product":
            out = (weights[..., None] * v[:, :, None]).sum(dim=-2)
        else:
            out = weights @ v
        return out.transpose(1, 2).flatten(2)


class Net(nn.Module):
    """Patches of 8, a layer for each word, and softmaxes of four axes that are no attention."""

    def __init__(self, *hows):
        super().__init__()
        self.patches = nn.Conv2d(3, 12, 8, 8)
        self.layers = nn.ModuleList(map(Layer, hows))

    def forward(self, images):
        picture = self.patches(images)
        x = picture.flatten(2).mT
        for layer in self.layers:
            x = x + layer(x)
        square = x[:, None] @ x[:, None].mT
        return x.mean(1), square.softmax(-1), F.softmax(square, dim=1), picture.softmax(dim=1)


def vit(**options):
    torch.manual_seed(0)
    return timm.create_model("vit_tiny_patch16_224", **(SIZES | options)).eval()


@pytest.fixture
def images():
    return torch.randn(3, 3, 48, 32)


@pytest.mark.parametrize(
    "how",
    [
        "method",
        "torch",
        "functional",
        "module",
        "by hand",
        "logsumexp",
        "einsum",
        "put right again",
    ],
)
def test_a_softmax_by_any_way_is_seen_once_a_layer(how, images):
    model = Net(how, "method")
    maps = recorded(model, images)
    expected = torch.stack([layer.kept for layer in model.layers], dim=1)
    torch.testing.assert_close(maps.stacked(), expected, rtol=0, atol=1e-6)
    assert maps.tokens(grid=GRID).prefix == ()


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("channels", r"layers.1 attends over 6 parts of \(3, 24, 12\), where tokens"),
        ("mixed heads", "no attention was seen in layers.1, beside layers in which it was"),
        ("gated", "no attention was seen in layers.1"),
        ("relu", "no attention was seen in layers.1"),
        ("no product", "no attention was seen in layers.1"),
        ("values first", "no attention was seen in layers.1"),
        ("values twice", "layers.1 attends more than once in a pass"),
        ("keys", "no attention was seen in layers.1|layers.1 attends"),
    ],
)
def test_one_layer_of_another_kind_makes_no_partial_stack(how, message, images):
    with pytest.raises(ValueError, match=message):
        recorded(Net("method", how), images).stacked()


@pytest.mark.parametrize("training", [False, True])
def test_channels_as_many_as_tokens_are_no_tokens(training):
    images = torch.randn(3, 3, 24, 16)  # 6 patches, heads of width 6
    for model in (Net("channels"), Net("method", "by hand")):
        with pytest.raises(ValueError, match=r"layers\.0 attends to as many tokens as there are numbers in a head"):
            recorded(model.train(training), images).stacked()


def test_a_layer_in_a_kernel_of_its_own_makes_no_partial_stack(images):
    model = vit()
    model.blocks[1].attn.forward = lambda x, *args, **kwargs: x
    with pytest.raises(ValueError, match=r"no attention was seen in blocks\.1\.attn"):
        recorded(model, images).stacked()
    model = vit()
    model.blocks[2].forward = lambda x, *args, **kwargs: x
    with pytest.raises(ValueError, match=r"no attention was seen in blocks\.2\.attn"):
        recorded(model, images).stacked()
    with pytest.raises(ValueError, match=r"no attention was seen"):
        attention_gradients(model, images, torch.tensor([0, 1, 1]))
    for layer in (model := vit()).blocks:
        layer.attn.forward = lambda x, *args, **kwargs: x
    with pytest.raises(ValueError, match="nothing was recorded"):
        recorded(model, images).stacked()


def test_ours_beside_other_attention_are_seen_both(images):
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([SelfAttention(12, 2), nn.MultiheadAttention(12, 2, batch_first=True)])

        def forward(self, x):
            return self.layers[1](*3 * (self.layers[0](x),))[0]

    assert recorded(Both(), torch.randn(2, 7, 12)).stacked().shape == (2, 2, 2, 7, 7)


@pytest.mark.slow
def test_a_compiled_model_is_recorded_as_it_is(images):
    model = vit()
    expected = recorded(model, images).stacked()
    whole = torch.compile(model, backend="eager")
    assert torch.equal(recorded(whole, images).stacked(), expected)
    with torch.no_grad():
        whole(images)
    again = recorded(whole, images)
    assert torch.equal(again.stacked(), expected) and again.tokens().prefix == CLASS
    parts = copy.deepcopy(model)
    for block in parts.blocks:
        block.compile(backend="eager")
    with torch.no_grad():
        parts(images)
    assert torch.equal(recorded(parts, images).stacked(), expected)
    with warnings.catch_warnings(action="ignore"):
        traced = torch.jit.trace(model, images, check_trace=False)
    with pytest.raises(ValueError, match="was traced or scripted"):
        recorded(traced, images).stacked()


def test_sixteen_bits_give_rows_that_sum_to_one(images):
    # Of eager attention, whose softmax has them, and under autocast; of the fused call in test_recording.py.
    exact = recorded(vit(), images).stacked()
    for block in (half := vit().bfloat16()).blocks:
        block.attn.fused_attn = False
    with torch.autocast("cpu", torch.bfloat16):
        mixed = recorded(vit(), images).stacked()
    for maps in (recorded(half, images.bfloat16()).stacked(), mixed):
        assert maps.dtype == torch.float32
        torch.testing.assert_close(maps.sum(-1), torch.ones_like(maps[..., 0]), rtol=0, atol=1e-6)
        torch.testing.assert_close(maps, exact, rtol=0, atol=0.02)


def test_a_part_of_a_model_with_two_towers():
    sizes = dict(num_hidden_layers=2, num_attention_heads=2, hidden_size=12, intermediate_size=20)
    parts = dict(sizes, vocab_size=30, max_position_embeddings=9), dict(sizes, image_size=42, patch_size=7)
    model = transformers.CLIPModel(transformers.CLIPConfig(text_config=parts[0], vision_config=parts[1])).eval()
    images, words = torch.randn(1, 3, 42, 42), torch.arange(9)[None]
    maps = recorded(model, images, call=lambda x: model(input_ids=words, pixel_values=x))
    assert maps.stacked().shape == (1, 2, 2, 37, 37) and maps.tokens().prefix == CLASS, "the text is left out"
    for one in (model, model.vision_model):
        maps = recorded(one, images, call=lambda x: model.vision_model(x))
        assert maps.stacked().shape == (1, 2, 2, 37, 37) and maps.tokens().prefix == CLASS


def test_several_passes_and_parts_of_a_model(images):
    model = vit()
    expected = recorded(model, images).stacked()
    twice = recorded(model, images, call=lambda x: (model.forward_features(x), model.forward_features(x[:1])))
    torch.testing.assert_close(twice.stacked(), torch.cat([expected, expected[:1]]))
    assert twice.tokens().grid == GRID
    free = vit(dynamic_img_size=True)
    sizes = recorded(free, images, call=lambda x: (free(x), free(x.mT)))
    assert sizes.stacked().shape == (6, 3, 2, T, T)
    with pytest.raises(ValueError, match="the images were not seen, or have several sizes"):
        sizes.tokens()
    one = recorded(model, images[:1])
    assert one.stacked().shape == (1, 3, 2, T, T) and one.tokens().prefix == CLASS


def test_patches_dropped_in_training_have_no_place(images):
    model = vit()
    model.patch_drop = timm.layers.PatchDropout(0.5, num_prefix_tokens=1).eval()
    assert recorded(model, images).tokens().grid == GRID
    with pytest.raises(ValueError, match=r"the maps have 13 tokens, but 6 x 4 patches with class token make 25"):
        recorded(model.train(), images).tokens()
