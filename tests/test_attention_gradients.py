"""How fast a logit rises with each attention weight: `attention_gradients`."""

import numpy as np
import published
import pytest
import torch
from test_recording import CONFIG, MODELS

from vit_course import attention, pretrained
from vit_course.attention import AttentionHead, SelfAttention, attention_weights
from vit_course.maps.attention_gradients import attention_gradients
from vit_course.vit import ViT


@pytest.fixture
def model():
    return ViT(CONFIG).eval()


@pytest.mark.parametrize("explicit_tokens", [256, 0])
def test_gradients_are_those_of_finite_differences(monkeypatch, explicit_tokens):
    # In float64, with either path of the attention.
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", explicit_tokens)
    model = ViT(CONFIG).eval().double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    images, classes = torch.randn(2, 3, 8, 12, dtype=torch.float64), torch.tensor([1, 4])
    maps, gradients = attention_gradients(model, images, classes)
    assert maps.shape == gradients.shape == (2, 2, 3, 7, 7) and not any(p.grad is not None for p in model.parameters())
    torch.testing.assert_close(maps.sum(-1), torch.ones(2, 2, 3, 7, dtype=torch.float64))

    def logits_with(layer, place, step):
        """One weight of one layer changed by hand, in the explicit path."""
        monkeypatch.setattr(attention, "EXPLICIT_TOKENS", 256)
        calls = []

        def changed(q, k):
            weights = attention_weights(q, k)
            calls.append(1)
            if len(calls) == layer + 1:
                weights = weights.clone()
                weights[place] += step
            return weights

        with monkeypatch.context() as patch, torch.no_grad():
            patch.setattr(attention, "attention_weights", changed)
            return model(images)

    step = 1e-5
    for layer, place in ((0, (0, 2, 3, 5)), (0, (1, 0, 0, 6)), (1, (0, 1, 0, 4)), (1, (1, 2, 0, 0))):
        image = place[0]
        rise = (logits_with(layer, place, step) - logits_with(layer, place, -step))[image, classes[image]] / (2 * step)
        torch.testing.assert_close(gradients[place[0], layer][place[1:]], rise, rtol=1e-5, atol=1e-8)
    # The last layer's other rows have no part in the class token's logits.
    assert gradients[:, 1, :, 1:].abs().max() == 0 and gradients[:, 0, :, 1:].abs().min() > 0


@pytest.mark.parametrize("explicit_tokens", [256, 0])
@pytest.mark.parametrize("context", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_a_frozen_model_has_the_same_gradients_in_any_context(model, odd_images, monkeypatch, context, explicit_tokens):
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", explicit_tokens)
    classes = torch.tensor([1, 4])
    expected = attention_gradients(model, odd_images, classes)
    model.requires_grad_(False)
    for trained in (False, True):  # all frozen, all but the head
        model.head.requires_grad_(trained)
        with context():
            made = odd_images + 0, classes + 0  # inside, as a batch is that was just normalised
            found = attention_gradients(model, *made)
        for one, right in zip(found, expected, strict=True):
            assert torch.equal(one, right) and not one.requires_grad
    assert not odd_images.requires_grad and not any(p.requires_grad for p in model.encoder.parameters())


def test_gradients_of_other_peoples_models():
    classes = torch.tensor([0, 1])
    for name, (make, size) in MODELS.items():
        model, images = make().eval(), torch.randn(2, 3, *size)
        maps, gradients = attention_gradients(model, images, classes)
        tokens = 1 + size[0] * size[1] // 49
        assert maps.shape == gradients.shape == (2, 3, 3, tokens, tokens) and gradients.isfinite().all(), name
        frozen = attention_gradients(model.requires_grad_(False), images, classes)
        if name == "torchvision":  # whose projection is another kernel where it is frozen
            torch.testing.assert_close(frozen, (maps, gradients), rtol=1e-4, atol=1e-6)
        else:
            assert torch.equal(frozen[0], maps) and torch.equal(frozen[1], gradients), name


def test_gradients_of_torchvisions_models_are_those_of_the_same_weights_in_ours():
    theirs = published.torchvision_vit().eval()
    images, classes = torch.randn(2, 3, 21, 21), torch.tensor([0, 1])
    ours = pretrained.load_torchvision(theirs)
    for found, expected in zip(
        attention_gradients(theirs, images, classes), attention_gradients(ours, images, classes), strict=True
    ):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-6)


def test_dropout_of_a_model_in_training_counts():
    model = published.timm_vit((14, 21), attn_drop_rate=0.5).train()
    images, classes = torch.randn(2, 3, 14, 21), torch.tensor([0, 1])
    first, second = (attention_gradients(model, images, classes)[1] for _ in range(2))
    assert not torch.allclose(first, second)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": None}, TypeError, "model must be a torch.nn.Module, got NoneType"),
        ({"images": np.zeros((2, 3, 8, 12))}, TypeError, "images must be a torch.Tensor, got ndarray"),
        (
            {"images": torch.zeros(2, 3, 8, 12).byte()},
            ValueError,
            "images are uint8, but the weights are float32: normalise them first",
        ),
        ({"classes": [0, 1]}, TypeError, "classes must be a torch.Tensor, got list"),
        ({"classes": torch.tensor([[0, 1]])}, ValueError, r"classes must have 1 axis \(B,\), got shape \(1, 2\)"),
        ({"classes": torch.tensor([0.0, 1.0])}, ValueError, "classes must be torch.int64 on cpu, got torch.float32"),
        ({"classes": torch.tensor([0, 5])}, ValueError, "classes must be from 0 to 4, got 0 to 5"),
        ({"classes": torch.tensor([-1, 4])}, ValueError, "classes must be from 0 to 4, got -1 to 4"),
        ({"classes": torch.zeros(2, dtype=torch.int64, device="meta")}, ValueError, "on cpu, got torch.int64 on meta"),
        ({"classes": torch.tensor([0])}, ValueError, "there are 2 images but 1 classes"),
    ],
)
def test_what_has_no_gradients(model, changes, error, message):
    right = dict(model=model, images=torch.zeros(2, 3, 8, 12), classes=torch.tensor([0, 1]))
    with pytest.raises(error, match=message):
        attention_gradients(**{**right, **changes})


def test_a_model_that_gives_no_logits_or_that_autograd_cannot_follow():
    for model, kind in ((SelfAttention(12, 3), r"shape \(2, 7, 12\)"), (AttentionHead(12, 3), "tuple")):
        with pytest.raises(ValueError, match=rf"logits \(B, num_classes\), but it gives {kind}"):
            attention_gradients(model, torch.randn(2, 7, 12), torch.tensor([0, 1]))
    with torch.inference_mode():
        made = ViT(CONFIG).eval()
    with pytest.raises(ValueError, match=r"the model was made inside torch.inference_mode"):
        attention_gradients(made, torch.zeros(2, 3, 8, 12), torch.tensor([0, 1]))
