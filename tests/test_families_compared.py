"""Stages and maps of many architectures beside the libraries' own, the way back to those, and saved variants."""

import re

import pytest
import timm
import torch
from architectures import ROWS, truth
from families import OF_HUGGINGFACE, OF_TIMM
from published import shaken
from runs import same
from test_recording import recorded

from vit_course import pretrained
from vit_course._support.files.weights import save_weights
from vit_course.config import ViTConfig
from vit_course.maps.recording import record_attention
from vit_course.pretrained import first_difference, load_huggingface, load_timm, stages
from vit_course.pretrained.variants import VariantConfig, VariantViT, new_model
from vit_course.vit import ViT

pytestmark = pytest.mark.slow


LIBRARIES = [(name, OF_TIMM, pretrained.load_timm) for name in OF_TIMM]
LIBRARIES += [(name, OF_HUGGINGFACE, pretrained.load_huggingface) for name in OF_HUGGINGFACE]
SMALL = dict(image_size=(8, 12), patch_size=4, num_classes=5, hidden_dim=24, num_layers=2, num_heads=3, mlp_dim=40)
ALWAYS = ["patch embedding", "class token and positions", "block 0: queries", "block 0: attention",
          "block 1: attention output",
          "block 1: after attention", "block 1: MLP, hidden (before GELU)", "block 1: MLP output"]  # fmt: skip


def pair(name, cases, load):
    case = cases[name]
    theirs = shaken(case.make(**case.options) if cases is OF_TIMM else case.make())
    return load(theirs), theirs


@pytest.mark.parametrize(("name", "cases", "load"), LIBRARIES)
def test_no_stage_of_a_family_differs(name, cases, load):
    ours, theirs = pair(name, cases, load)
    before = {key: value.clone() for key, value in theirs.state_dict().items()}
    images = torch.randn(1, ours.config.in_channels, *ours.config.image_size)
    comparison = first_difference(ours, theirs, images)
    assert comparison.first is None, comparison.table()
    if cases[name].alone:  # its state dict says the rest
        alone = load(theirs.state_dict(), **cases[name].said)
        assert alone.config == ours.config and same(alone, ours)
    assert set(ALWAYS) <= {stage.name for stage in comparison.stages}
    assert max(stage.difference for stage in comparison.stages) < 1e-11
    assert all(torch.equal(value, before[key]) for key, value in theirs.state_dict().items())
    assert getattr(getattr(theirs, "config", None), "mask_ratio", 0.0) == 0.0


def test_mae_is_looked_at_without_its_masks():
    case = OF_HUGGINGFACE["MAE with its decoder"]
    theirs = shaken(case.make())
    theirs.config.mask_ratio = 0.75
    seen = stages(theirs, torch.randn(2, 3, 21, 21))
    assert seen["norm"].shape == (2, 10, 36) and theirs.config.mask_ratio == 0.75
    assert first_difference(pretrained.load_huggingface(theirs), theirs, torch.randn(1, 3, 21, 21)).first is None


# ---- the way back


@pytest.mark.parametrize("changes", [{"num_registers": 4}, {"num_registers": 2, "pool": "mean"}, {"num_classes": 0}])
@torch.no_grad()
def test_registers_and_no_head_go_to_timm(changes):
    ours = shaken(ViT(ViTConfig(**{**SMALL, "image_size": 8, **changes})))
    mean = ours.config.pool == "mean"
    theirs = timm.models.VisionTransformer(
        img_size=8, patch_size=4, depth=2, num_heads=3, embed_dim=24, mlp_ratio=40 / 24, class_token=not mean,
        num_classes=ours.config.num_classes, reg_tokens=ours.config.num_registers, fc_norm=False,
        global_pool="avg" if mean else "token",
    ).eval()  # fmt: skip
    exported = pretrained.to_timm(ours)
    theirs.load_state_dict(exported)
    images = torch.randn(2, 3, 8, 8)
    torch.testing.assert_close(ours.features(images), theirs.forward_features(images), atol=1e-5, rtol=0)
    if ours.config.num_classes:
        torch.testing.assert_close(ours(images), theirs(images), atol=1e-5, rtol=0)
    again = pretrained.load_timm(theirs)
    assert again.config == ours.config
    assert all(torch.equal(value, again.state_dict()[key]) for key, value in ours.state_dict().items())


def test_what_a_library_has_not_is_not_exported():
    registers = ViT(ViTConfig(**SMALL, num_registers=2))
    for export in (pretrained.to_torchvision, pretrained.to_huggingface):
        with pytest.raises(ValueError, match=r"has num_registers 0, but this model has 2$"):
            export(registers)
    for name, message in (("distilled DeiT", "reads 'pool', but this model has 'cls\\+register'"),
                          ("CLIP", "pre_norm False, but this model has True"),
                          ("mean before the norm, no class token", "norm_pooled False, but this model has True"),
                          ("SigLIP, a head and registers", "'pool', but this model has 'attention'")):  # fmt: skip
        with pytest.raises(ValueError, match=f"^a ViT of timm has .*{message}$"):
            pretrained.to_timm(pair(name, OF_TIMM, pretrained.load_timm)[0])


# ---- variants
VARIANTS = [{}, {"reads": "patches"}, {"reads": "cls+patches"}, {"reads": "cls+register", "num_registers": 2},
            {"reads": "attention", "pool": "mean"}, {"reads": "attention"}, {"norm_pooled": True, "pool": "mean"},
            {"pre_norm": True, "quick_gelu": True}, {"reads": "cls+patches", "num_classes": 0}]  # fmt: skip


@pytest.mark.parametrize("changes", VARIANTS)
def test_parameters_of_a_variant_are_counted_and_it_can_be_saved(changes, tmp_path):
    model = new_model(VariantConfig(**{**SMALL, **changes})).eval()
    assert isinstance(model, VariantViT)
    assert model.config.num_parameters == sum(p.numel() for p in model.parameters())
    images = torch.randn(2, 3, 8, 12)
    save_weights(tmp_path / "mine.safetensors", model)
    loaded = pretrained.load(tmp_path / "mine.safetensors")
    assert loaded.config == model.config and type(loaded) is VariantViT
    assert torch.equal(loaded.features(images), model.features(images))
    if model.config.num_classes:
        assert torch.equal(loaded(images), model(images)) and loaded(images).shape == (2, 5)
    assert pretrained.resize(model, 12).config == VariantConfig(**{**SMALL, **changes, "image_size": 12})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"reads": "all"},
            "reads must be 'pool', 'patches', 'cls\\+patches', 'cls\\+register' or 'attention', got 'all'",
        ),
        ({"reads": "cls+patches", "pool": "mean"}, "needs a class token, but pool is 'mean'"),
        ({"reads": "cls+register"}, "needs a register, but num_registers is 0"),
        ({"pre_norm": 1}, "pre_norm must be True or False, got 1"),
        ({"num_classes": -1}, "num_classes must be at least 0, got -1"),
    ],
)
def test_variants_that_are_none(changes, message):
    with pytest.raises(ValueError, match=message):
        VariantConfig(**{**SMALL, **changes})


TAKEN = [name for name, row in ROWS.items() if row.grid]
REFUSED = [name for name, row in ROWS.items() if row.refused]


@pytest.mark.parametrize("name", TAKEN)
def test_maps_are_those_of_the_library_and_the_patches_lie_where_they_lie(name):
    row = ROWS[name]
    model, images = shaken(row.make()), torch.randn(2, 3, *row.size)
    maps = recorded(model, images)
    stacked, tokens = maps.stacked(), maps.tokens()
    rows, columns = row.grid
    count = len(row.prefix) + rows * columns
    assert stacked.shape == (2, row.layers, row.heads, count, count)
    assert tokens.prefix == row.prefix and tokens.grid == row.grid
    assert not model._forward_hooks and not model._forward_pre_hooks  # ViTPose has some of its own further inside
    # What a person says is tested on a copy of the model: here it is what the family's row says.
    assert maps.tokens(prefix=row.prefix).tested or "hybrid" in name
    expected = truth(name, model, images)
    assert expected.std() > 1e-3, "all weights alike would prove nothing"
    torch.testing.assert_close(stacked, expected, rtol=0, atol=1e-5)


LOADED = {
    "timm SigLIP": load_timm,
    "timm CLIP": load_timm,
    "timm DINOv2 with registers": load_timm,
    "timm DeiT distilled": load_timm,
    "transformers DINOv2 with registers": load_huggingface,
}


@pytest.mark.parametrize("name", LOADED)
def test_in_our_vit_the_maps_and_the_names_are_the_same(name):
    row = ROWS[name]
    theirs = shaken(row.make())
    size = (42, 42) if name.startswith("transformers") else row.size  # positions are as published, for this size
    ours, images = LOADED[name](theirs), torch.randn(2, 3, *size)
    before = recorded(theirs, images)
    with torch.no_grad(), record_attention(ours) as after:
        ours.features(images)
    torch.testing.assert_close(after.stacked(), before.stacked(), rtol=0, atol=1e-5)
    assert after.tokens() == before.tokens()


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_map_of_all_tokens_is_refused_with_the_reason(name):
    row = ROWS[name]
    maps = recorded(row.make().eval(), torch.randn(1, 3, *row.size))
    with pytest.raises(ValueError, match=row.refused) as caught:
        maps.tokens()
    assert len(re.findall(r"[.!?] [A-Z]", str(caught.value))) == 0, "one sentence"
