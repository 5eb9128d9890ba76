"""State dicts of other architectures and under other names: the first error says whose the names are."""

import published
import pytest
import timm
import torchvision
import transformers
import vit_pytorch
from published import PUBLISHED

from vit_course import pretrained
from vit_course.config import ViTConfig
from vit_course.vit import ViT

SMALL = dict(image_size=8, patch_size=4, num_classes=5, hidden_dim=24, num_layers=2, num_heads=3, mlp_dim=20)


@pytest.mark.slow
@pytest.mark.parametrize(
    "load, make, message",
    [
        (
            pretrained.load_timm,
            lambda: timm.create_model("swin_tiny_patch4_window7_224", embed_dim=12, depths=(1, 1, 1, 1)),
            "^key 'pos_embed' is missing$",
        ),
        (
            pretrained.load_torchvision,
            lambda: torchvision.models.SwinTransformer([4, 4], 12, [1, 1], [1, 2], [7, 7]),
            "not the state dict of a torchvision ViT$",
        ),
        (
            pretrained.load_huggingface,
            lambda: transformers.SwinModel(transformers.SwinConfig(embed_dim=12, depths=[1, 1], num_heads=[1, 2])),
            "'embeddings.position_embeddings' is missing",
        ),
        (pretrained.load_timm, lambda: timm.create_model("resnet18"), "not the state dict of a timm ViT$"),
        (
            pretrained.load_torchvision,
            torchvision.models.resnet18,
            "'conv_proj.weight' is missing: this is not the state dict of a torchvision ViT$",
        ),
        (pretrained.load_timm, lambda: published.timm_vit(qk_norm=True), "'blocks.0.attn.q_norm.weight' is left over"),
        (
            pretrained.load_huggingface,
            lambda: transformers.BertModel(transformers.BertConfig(vocab_size=50, hidden_size=60, num_hidden_layers=2)),
            "is missing: this is not the state dict of a Hugging Face ViT$",
        ),
        (pretrained.load_timm, published.torchvision_vit, r"not .* a timm ViT \(its names are those of torchvision\)"),
        (pretrained.load_torchvision, published.huggingface_vit, r"\(its names are those of Hugging Face\)"),
        (pretrained.load_huggingface, published.timm_vit, r"\(its names are those of timm\)"),
        (pretrained.load_vit_pytorch, lambda: ViT(ViTConfig(**SMALL)), r"\(its names are those of vit_course\)"),
        (
            pretrained.load_vit_pytorch,
            lambda: vit_pytorch.SimpleViT(
                image_size=14, patch_size=7, num_classes=5, dim=36, depth=1, heads=3, mlp_dim=20
            ),
            "key 'pos_embedding' is missing",
        ),
        (
            pretrained.load_timm,
            lambda: published.timm_vit((14, 21)),
            r"'pos_embed' has shape \(1, 7, 36\): 7 rows are not one for a class token and a square number of patches, "
            r"\(1, 5, 36\) would be$",
        ),
    ],
)
def test_other_architectures_are_named(load, make, message):
    with pytest.raises(ValueError, match=message):
        load(make().state_dict(), 3)


@pytest.mark.parametrize("prefix", ["module.", "model.", "module.backbone.", "_orig_mod."])
@pytest.mark.parametrize("name", ["torchvision", "timm", "Hugging Face", "vit-pytorch"])
def test_a_prefix_is_named(name, prefix):
    state = {prefix + key: value for key, value in PUBLISHED[name].theirs().state_dict().items()}
    with pytest.raises(ValueError, match=rf"is missing: .* \(its names begin with '{prefix}': remove that"):
        PUBLISHED[name].load(state, 3)
