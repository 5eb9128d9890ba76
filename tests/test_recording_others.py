"""Attention maps and gradients of other people's models: 3 layers, 2 heads, 8 x 16 pixels in patches of 4."""

import pytest
import torch
import torch.nn.functional as F
import torchvision
from conftest import cases
from torch import nn

from vit_course.maps.recording import attention_gradients, record_attention
from vit_course.pretrained import load_torchvision

SIZES = dict(depth=3, num_heads=2, embed_dim=12, num_classes=5, img_size=(8, 16), patch_size=4)


def from_timm():
    timm = pytest.importorskip("timm")
    return timm.models.VisionTransformer(**SIZES)


def from_torchvision(width=12):
    return torchvision.models.VisionTransformer(
        image_size=8, patch_size=4, num_layers=3, num_heads=2, hidden_dim=width, mlp_dim=20, num_classes=5
    )


def from_huggingface(attention="sdpa"):
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(
        image_size=[8, 16], patch_size=4, num_hidden_layers=3, num_attention_heads=2, hidden_size=12,
        intermediate_size=20, attn_implementation=attention,
    )  # fmt: skip
    return transformers.ViTForImageClassification(config)


def eager_timm():
    model = from_timm()
    for block in model.blocks:
        block.attn.fused_attn = False
    return model


MODELS = {
    "timm": from_timm,
    "timm eager": eager_timm,
    "torchvision": from_torchvision,
    "huggingface": from_huggingface,
    "huggingface eager": lambda: from_huggingface("eager"),
}


def logits(result):
    return result if isinstance(result, torch.Tensor) else result.logits


@cases("name", MODELS)
@cases("training", [False, True])
def test_maps_of_other_peoples_models(name, training):
    model = MODELS[name]().train(training)
    images = torch.randn(2, 3, 8, 8 if name == "torchvision" else 16)
    tokens = 5 if name == "torchvision" else 9
    with torch.no_grad():
        before = logits(model(images))
        with record_attention(model) as maps:
            after = logits(model(images))
            model(images[:1])
    stacked = maps.stacked()
    assert stacked.shape == (3, 3, 2, tokens, tokens)
    torch.testing.assert_close(stacked.sum(dim=-1), torch.ones(3, 3, 2, tokens))
    torch.testing.assert_close(stacked[0], stacked[2])
    assert not torch.allclose(stacked[:, 0], stacked[:, 1]), "the layers in their order"
    torch.testing.assert_close(after, before)
    assert not model._forward_pre_hooks


def test_torchvisions_maps_are_ours():
    theirs = from_torchvision(width=128).eval()  # heads of width 64, as published
    for parameter in theirs.parameters():  # away from the zeros and near-zeros of the start
        nn.init.normal_(parameter, std=0.1)
    ours, images = load_torchvision(theirs.state_dict(), num_heads=2), torch.randn(2, 3, 8, 8)
    with torch.no_grad(), record_attention(theirs) as a:
        theirs(images)
    with torch.no_grad(), record_attention(ours) as b:
        ours(images)
    torch.testing.assert_close(a.stacked(), b.stacked(), rtol=0, atol=1e-5)


def test_fused_and_eager_give_the_same_maps():
    fused, eager = from_timm().eval(), eager_timm().eval()
    eager.load_state_dict(fused.state_dict())
    images = torch.randn(2, 3, 8, 16)
    with torch.no_grad(), record_attention(fused) as a:
        fused(images)
    with torch.no_grad(), record_attention(eager) as b:
        eager(images)
    torch.testing.assert_close(a.stacked(), b.stacked())


def test_an_exception_in_somebody_elses_model_leaves_nothing_behind():
    model = from_torchvision()
    with pytest.raises(AssertionError), record_attention(model):
        model(torch.randn(1, 3, 4, 4))
    assert not model._forward_pre_hooks
    with record_attention(model) as maps:
        pass
    with pytest.raises(ValueError, match="nothing was recorded"):
        maps.stacked()


def test_masks_and_scales_of_the_fused_call_are_kept():
    q, k, v = torch.randn(3, 2, 2, 5, 4)
    mask = torch.ones(5, 5, dtype=torch.bool).tril()

    class Layer(nn.Module):
        def forward(self, x):
            F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3)
            F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x

    layer = Layer()
    with record_attention(layer) as maps:
        layer(q)
    first, second = maps.stacked().unbind(1)
    torch.testing.assert_close(first, (q @ k.mT * 0.3).masked_fill(~mask, -torch.inf).softmax(-1))
    torch.testing.assert_close(second, (q @ k.mT / 2).masked_fill(~mask, -torch.inf).softmax(-1))


def test_windows_and_hierarchies_are_refused():
    swin = torchvision.models.SwinTransformer([4, 4], 12, [1, 1], [2, 2], [2, 2])
    with torch.no_grad(), record_attention(swin) as maps:
        swin(torch.randn(1, 3, 32, 32))
    with pytest.raises(ValueError, match=r"layers saw different numbers of sequences, \[4, 16\]"):
        maps.stacked()


def test_gradients_of_other_peoples_models():
    for name in ("timm", "timm eager", "huggingface", "huggingface eager"):
        model = MODELS[name]().eval()
        images = torch.randn(2, 3, 8, 16)
        maps, gradients = attention_gradients(model, images, torch.tensor([0, 1]))
        assert maps.shape == gradients.shape == (2, 3, 2, 9, 9) and gradients.isfinite().all(), name
        frozen = attention_gradients(model.requires_grad_(False), images, torch.tensor([0, 1]))
        assert torch.equal(frozen[0], maps) and torch.equal(frozen[1], gradients), name
    with pytest.raises(ValueError, match="no part in the logits"):
        attention_gradients(from_torchvision().eval(), torch.randn(1, 3, 8, 8), torch.tensor([0]))
    with pytest.raises(ValueError, match="2 images and 3 classes"):
        attention_gradients(model, images, torch.tensor([0, 1, 2]))
