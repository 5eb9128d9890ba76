"""What a model says, and what it would have said after each layer: of ours and of the libraries' plain models."""

import pytest
import timm
import torch
import torchvision
import transformers
from published import shaken
from sent import features_of
from torch import nn

from vit_course.explorer import explore
from vit_course.explorer.predictions import MOST_CLASSES
from vit_course.maps.models.statements import Statements
from vit_course.pretrained import Pretrained
from vit_course.pretrained.bundled import AsTrained
from vit_course.vit import ViT, ViTConfig

SIZES = dict(image_size=(8, 16), patch_size=4, num_classes=7, hidden_dim=12, num_layers=3, num_heads=2, mlp_dim=20)
HF = dict(image_size=[8, 16], patch_size=4, num_hidden_layers=3, num_attention_heads=2, hidden_size=12,
          intermediate_size=20)  # fmt: skip
TIMM = dict(img_size=(8, 16), patch_size=4, depth=3, num_heads=2, embed_dim=12, num_classes=7)


def huggingface(kind, **sizes):
    config = getattr(transformers, f"{kind}Config")(**(HF | sizes), id2label={i: f"thing {i}" for i in range(7)})
    return getattr(transformers, f"{kind}ForImageClassification")(config)


class Twice(ViT):
    def forward(self, images):
        return 2 * super().forward(images)


MODELS = {
    "class token": lambda: ViT(ViTConfig(**SIZES)),
    "pooled": lambda: ViT(ViTConfig(**SIZES, pool="mean", num_registers=2)),
    "before the head": lambda: ViT(ViTConfig(**SIZES, representation_size=9)),
    "timm": lambda: timm.models.VisionTransformer(**TIMM),
    "timm, pooled": lambda: timm.models.VisionTransformer(**TIMM, class_token=False, global_pool="avg"),
    "torchvision": lambda: torchvision.models.VisionTransformer(8, 4, 3, 2, 12, 20, num_classes=7),
    "ViT": lambda: huggingface("ViT"),
    "DeiT": lambda: huggingface("DeiT"),
    "Dinov2": lambda: huggingface("Dinov2", image_size=8),
    "logits made in another way": lambda: Twice(ViTConfig(**SIZES)),
}


@pytest.fixture
def image():
    return torch.randn(3, 8, 16)


def shown(model, image, **options):
    """-> the panel, and the probabilities that the model gives by itself."""
    with torch.no_grad():
        answer = model(image[None])
    logits = answer if isinstance(answer, torch.Tensor) else answer.logits
    explorer = explore(model, image, **options)
    return explorer, explorer._panels[0], logits.softmax(dim=1)[0]


@pytest.mark.parametrize("name", MODELS)
def test_the_prediction_is_the_models_own(name, image):
    model = shaken(MODELS[name]())
    image = image[:, :, :8] if name in ("torchvision", "Dinov2") else image
    explorer, panel, expected = shown(model, image)
    says = panel["says"]
    best = expected.topk(MOST_CLASSES)
    word = "thing" if name in ("ViT", "DeiT", "Dinov2") else "class"
    assert says["labels"] == [f"{word} {index}" for index in best.indices.tolist()]
    torch.testing.assert_close(torch.tensor(says["probabilities"]), best.values, rtol=0, atol=1e-4)
    assert len(says["lens"]) == 4 and says["lens"][-1] == says["probabilities"]
    assert says["lens"][0] != says["lens"][1] != says["lens"][2], "each layer has its own"
    assert says["about"] == "the model's own head, for 7 classes"
    assert features_of(explorer).shape == (panel["tokens"], 12)


def test_after_each_layer_the_norm_and_the_head_read_the_tokens(image):
    model = shaken(ViT(ViTConfig(**SIZES)))
    says = shown(model, image)[1]["says"]
    tokens, rows = model.embed(image[None]), []
    with torch.no_grad():
        for block in [nn.Identity(), *model.encoder.blocks]:
            tokens = block(tokens)
            rows.append(model.head(model.encoder.norm(tokens)[:, 0]).softmax(-1)[0])
    best = rows[-1].topk(MOST_CLASSES).indices
    torch.testing.assert_close(torch.tensor(says["lens"]), torch.stack(rows)[:, best], rtol=0, atol=1e-4)


def test_the_features_are_those_after_the_last_norm(image):
    model = shaken(ViT(ViTConfig(**SIZES)))
    with torch.no_grad():
        expected = model.features(image[None])[0]
    found = torch.from_numpy(features_of(explore(model, image)))
    assert ((found - expected).abs() <= expected.abs().amax(0) / 16000).all()
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())


def test_without_classes_nothing_is_said(image):
    headless = ViT(ViTConfig(**{**SIZES, "num_classes": 0}))
    embedding = timm.models.VisionTransformer(**{**TIMM, "num_classes": 0})
    for model in (headless, embedding, transformers.ViTModel(transformers.ViTConfig(**HF))):
        panel = explore(shaken(model), image)._panels[0]
        assert panel["says"] is None and panel["sections"][-1]["name"] == "feature_steps"

    projected = Pretrained(shaken(ViT(ViTConfig(**SIZES))), AsTrained((8, 16), (0.5,) * 3, (0.5,) * 3), [])
    assert explore(projected, image.sigmoid())._panels[0]["says"] is None, "an embedding for want of classes"


def test_labels(image):
    model = shaken(ViT(ViTConfig(**SIZES)))
    names = list("abcdefg")
    order = shown(model, image)[2].topk(MOST_CLASSES).indices.tolist()
    assert explore(model, image, labels=names)._panels[0]["says"]["labels"] == [names[i] for i in order]
    both = Pretrained(model, AsTrained((8, 16), (0.5,) * 3, (0.5,) * 3), names)
    assert set(explore(both, image.sigmoid())._panels[0]["says"]["labels"]) <= set(names)
    with pytest.raises(ValueError, match="the model has 7 classes, but 2 labels were given"):
        explore(model, image, labels=["a", "b"])
    entry = torchvision.models.ViT_B_16_Weights.IMAGENET1K_V1
    theirs = shaken(torchvision.models.VisionTransformer(224, 112, 1, 2, 12, 20))
    said = explore(theirs, torch.rand(3, 32, 32), entry)._panels[0]["says"]
    assert set(said["labels"]) < set(entry.meta["categories"])
    names = Statements(timm.create_model("vit_tiny_patch16_224", depth=1)).labels
    assert names[281] == "tabby" and len(names) == 1000
    assert Statements(model).labels is None
