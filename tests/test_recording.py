"""What a recording keeps, of ours and of other people's models: queries and keys, from which all maps follow."""

import dataclasses

import published
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from vit_course import attention
from vit_course.attention import SelfAttention, attention_weights
from vit_course.config import ViTConfig
from vit_course.maps import Tokens, interpret
from vit_course.maps import recorded_attention as recorded_module
from vit_course.maps.recording import record_attention
from vit_course.vit import ViT

CONFIG = ViTConfig(
    image_size=(8, 12), patch_size=4, num_classes=5, hidden_dim=24, num_layers=2, num_heads=3, mlp_dim=40,
    dropout=0.3, attention_dropout=0.3,
)  # fmt: skip


def eager_timm():
    model = published.timm_vit((14, 21))
    for block in model.blocks:
        block.attn.fused_attn = False
    return model


EAGER = {"attn_implementation": "eager"}
# Each with the size of its images.
MODELS = {
    "timm": (lambda: published.timm_vit((14, 21)), (14, 21)),
    "timm eager": (eager_timm, (14, 21)),
    "torchvision": (published.torchvision_vit, (21, 21)),
    "huggingface": (lambda: published.huggingface_vit(image_size=[14, 21]), (14, 21)),
    "huggingface eager": (lambda: published.huggingface_vit(image_size=[14, 21], **EAGER), (14, 21)),
}


@pytest.fixture
def model():
    return ViT(CONFIG).eval()


def hooks(model) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def recorded(model, *inputs, call=None):
    with torch.no_grad(), record_attention(model) as maps:
        (call or model)(*inputs)
    return maps


def by_hand(model, images):
    z, maps = model.embed(images), []
    for block in model.encoder.blocks:
        q, k, _ = block.attention.split_heads(block.norm1(z))
        maps.append(attention_weights(q, k))
        z = block(z)
    return torch.stack(maps, dim=1)


@pytest.mark.parametrize("limit", [0, 10_000])  # the fused path, the explicit path
def test_maps_are_the_weights_and_the_output_is_untouched(limit, model, odd_images, monkeypatch):
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", limit)
    for training in (False, True):  # with dropout, before which the weights are taken
        model.train(training)
        torch.manual_seed(3)
        expected = model(odd_images)
        torch.manual_seed(3)
        with record_attention(model) as maps:
            out = model(odd_images)
        assert torch.equal(out, expected)
        stacked = maps.stacked()
        assert stacked.shape == (2, 2, 3, 7, 7) and not stacked.requires_grad
        torch.testing.assert_close(stacked.sum(-1), torch.ones(2, 2, 3, 7))
        assert training or torch.allclose(stacked, by_hand(model, odd_images), atol=1e-6)
    out.sum().backward()
    assert model.patch_embedding.projection.weight.grad.abs().sum() > 0 and hooks(model) == 0


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("training", [False, True])
def test_maps_of_other_peoples_models(name, training):
    make, size = MODELS[name]
    model, images, tokens = make().train(training), torch.randn(2, 3, *size), 1 + size[0] * size[1] // 49
    with torch.no_grad():
        before = published.logits(model, images)
        with record_attention(model) as maps:
            after = published.logits(model, images)
            model(images[:1])
    stacked = maps.stacked()
    assert stacked.shape == (3, 3, 3, tokens, tokens)
    torch.testing.assert_close(stacked.sum(dim=-1), torch.ones(3, 3, 3, tokens))
    torch.testing.assert_close(stacked[0], stacked[2])
    assert not torch.allclose(stacked[:, 0], stacked[:, 1]), "the layers in their order"
    torch.testing.assert_close(after, before)
    assert not model._forward_pre_hooks
    if "eager" in name:
        with pytest.raises(ValueError, match="of layer 0 were not seen, only its weights, because it computes"):
            maps.queries_and_keys()


@pytest.mark.parametrize("name", ["ours", "timm", "torchvision", "huggingface"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_queries_and_keys_make_the_maps(name, dtype, model):
    make, size = MODELS.get(name, (lambda: model, (8, 12)))
    other = make().eval().to(dtype)
    maps = recorded(other, torch.randn(2, 3, *size, dtype=dtype), call=lambda images: (other(images), other(images)))
    q, k = maps.queries_and_keys()
    stacked = maps.stacked()
    assert q.dtype == k.dtype == stacked.dtype == torch.float32
    assert q.shape == k.shape == (*stacked.shape[:4], 8 if name == "ours" else 12)
    torch.testing.assert_close(attention_weights(q, k), stacked)
    torch.testing.assert_close(maps.by_layer[1][0], stacked[:2, 1])
    assert len(maps.by_layer) == stacked.shape[1] and len(maps.by_layer[1:]) == stacked.shape[1] - 1


class Call(nn.Module):
    """Attention by one fused call with these options."""

    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, q, k):
        return F.scaled_dot_product_attention(q, k, k, **self.options)


def test_masks_scales_and_shared_keys_of_the_fused_call_are_kept():
    x, few = torch.randn(2, 4, 5, 6), torch.randn(2, 2, 5, 6)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    plain, causal = x @ x.mT, (x @ x.mT).masked_fill(~mask, -torch.inf)
    shared = recorded(Call(enable_gqa=True), x, few)
    for maps, expected, pairs in (
        (recorded(Call(scale=0.3), x, 2 * x), (0.6 * plain).softmax(-1), True),
        (shared, attention_weights(x, few[:, [0, 0, 1, 1]]), True),
        (recorded(Call(attn_mask=mask, scale=0.3), x, x), (0.3 * causal).softmax(-1), False),
        (recorded(Call(is_causal=True), x, x), (causal / 6**0.5).softmax(-1), False),
    ):
        torch.testing.assert_close(maps.stacked()[:, 0], expected)
        if pairs:
            torch.testing.assert_close(attention_weights(*maps.queries_and_keys())[:, 0], expected)
        else:
            with pytest.raises(ValueError, match="because it has a mask or a bias"):
                maps.queries_and_keys()
    assert torch.equal(shared.queries_and_keys()[1][:, 0], few[:, [0, 0, 1, 1]])


def test_keys_that_are_padding_get_nothing():
    layer = nn.TransformerEncoderLayer(12, 2, 20, batch_first=True).eval()
    padding = torch.zeros(2, 7, dtype=torch.bool)
    padding[1, 5:] = True
    with torch.no_grad(), record_attention(layer) as maps:
        layer(torch.randn(2, 7, 12), src_key_padding_mask=padding)
    stacked = maps.stacked()
    assert stacked[1, ..., 5:].max() == 0 and stacked[0, ..., 5:].min() > 0
    torch.testing.assert_close(stacked.sum(-1), torch.ones(2, 1, 2, 7))
    with pytest.raises(ValueError, match="has a mask, a bias or projections of its own"):
        maps.queries_and_keys()


def test_tokens_of_ours_have_names_and_places(odd_images):
    changed = dataclasses.replace(CONFIG, num_registers=2)
    for config, prefix in (
        (CONFIG, ("class token",)),
        (changed, ("class token", "register 1", "register 2")),
        (dataclasses.replace(changed, pool="mean", num_classes=0), ("register 1", "register 2")),
        (dataclasses.replace(CONFIG, pool="mean"), ()),
    ):
        model = ViT(config).eval()
        with record_attention(model) as maps:
            model.features(odd_images)
        tokens = maps.tokens()
        assert tokens == Tokens(prefix, (2, 3)) and tokens.num_prefix == len(prefix)
        assert [tokens.name(token) for token in (0, tokens.num_prefix, tokens.num_prefix + 4)] == [
            prefix[0] if prefix else "row 0, column 0", "row 0, column 0", "row 1, column 1"
        ]  # fmt: skip
        assert interpret.patch_part(maps.stacked(), tokens.grid, tokens.num_prefix).shape == (2, 2, 3, 6, 6)
    with pytest.raises(ValueError, match=r"6 tokens, but 2 x 3 patches with class token make 7"):
        maps.tokens(prefix=1)
    with pytest.raises(ValueError, match=r"6 tokens, but 3 x 4 patches with no other token make 12"):
        maps.tokens(grid=(3, 4))


def test_nested_recordings_see_their_own_passes(model, odd_images):
    with record_attention(model) as outer:
        model(odd_images)
        with record_attention(model) as inner:
            model(odd_images[:1])
        model(odd_images)
    assert inner.stacked().shape[0] == 1 and outer.stacked().shape[0] == 5
    torch.testing.assert_close(outer.stacked()[2:3], inner.stacked())
    assert hooks(model) == 0


class Turned(SelfAttention):
    """Attention of somebody's own, by inheritance."""

    def split_heads(self, x):
        q, k, v = super().split_heads(x)
        return q, 2 * k, v


def test_a_layer_with_a_way_of_its_own_is_recorded_as_it_attends():
    layer, x = Turned(12, 3), torch.randn(2, 5, 12)
    torch.testing.assert_close(recorded(layer, x).stacked()[:, 0], layer.weights(x))


def test_nothing_is_projected_twice_and_no_map_is_made_until_asked(model, odd_images, monkeypatch):
    calls, made = [], []
    for block in model.encoder.blocks:
        block.attention.qkv.register_forward_hook(lambda *_: calls.append(1))
    monkeypatch.setattr(recorded_module, "attention_weights", lambda *pair: made.append(1) or attention_weights(*pair))
    maps = recorded(model, odd_images)
    assert len(calls) == 2 and not made
    maps.queries_and_keys()
    assert not made
    maps.stacked()
    assert len(calls) == 2 and len(made) == 2


def test_what_is_asked_of_a_layer_beside_its_pass_is_not_recorded(model, odd_images):
    with torch.no_grad(), record_attention(model) as maps:
        tokens = model.embed(odd_images)
        model.encoder.blocks[0].attention.weights(torch.randn_like(tokens))
        model(odd_images)
        model.encoder.blocks[1].attention.weights(torch.randn_like(tokens))
    torch.testing.assert_close(maps.stacked(), recorded(model, odd_images).stacked())


def test_changes_in_place_are_said_or_do_no_harm(model, odd_images):
    class Changed(nn.Module):
        def __init__(self, fused):
            super().__init__()
            self.fused = fused

        def forward(self, x):
            if self.fused:
                out = F.scaled_dot_product_attention(x, x, x)
                x.zero_()
                return out
            weights = (x @ x.mT).softmax(-1)
            out = weights @ x
            weights.zero_()
            return out

    x = torch.randn(2, 3, 5, 4)
    torch.testing.assert_close(recorded(Changed(True), x.clone()).stacked()[:, 0], attention_weights(x, x))
    with pytest.raises(ValueError, match="the recorded tensors have been changed in place since"):
        recorded(Changed(False), x).stacked()
    with torch.inference_mode(), record_attention(layer := Changed(False)) as maps:  # where no changes are counted
        layer(x)
    torch.testing.assert_close(maps.stacked()[:, 0], (x @ x.mT).softmax(-1))
    layer = nn.MultiheadAttention(12, 2, batch_first=True)
    maps = recorded(layer, *3 * (torch.randn(2, 5, 12),))
    with torch.no_grad():
        layer.in_proj_weight.mul_(2)
    with pytest.raises(ValueError, match="changed in place since, by the model or by a training step"):
        maps.stacked()


def test_no_hook_is_left_after_an_exception(model, odd_images):
    theirs = published.torchvision_vit()
    for one, images, error in ((model, odd_images, RuntimeError), (model, torch.zeros(2, 3, 9, 12), ValueError),
                               (theirs, torch.zeros(1, 3, 4, 4), AssertionError)):  # fmt: skip
        with pytest.raises(error), record_attention(one):
            one(images)
            raise RuntimeError("halfway")
        assert hooks(one) == 0


def test_what_cannot_be_stacked_is_said(model):
    layer = SelfAttention(12, 3)
    for recording, calls, message in (
        (model, [], "2 of 2 attention layers recorded nothing"),
        (nn.Linear(2, 2), [torch.randn(3, 2)], "nothing was recorded: run the model inside the with block"),
        (layer, [torch.randn(2, 5, 12), torch.randn(2, 6, 12)], r"different shapes .*\(3, 5, 5\), \(3, 6, 6\)"),
    ):
        with record_attention(recording) as maps:
            for inputs in calls:
                recording(inputs)
        with pytest.raises(ValueError, match=message):
            maps.stacked()
    with pytest.raises(TypeError, match="got the class SelfAttention"), record_attention(SelfAttention):
        pass
