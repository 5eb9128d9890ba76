"""The whole model and its config: sizes, parameters, what is refused."""

import itertools
import math
from dataclasses import fields

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from vit_course.config import PRESETS, ViTConfig
from vit_course.embeddings import LearnedPositions, SinCos2DPositions
from vit_course.encoder import MLP, Encoder
from vit_course.vit import ViT

SMALL = dict(
    image_size=(8, 12), patch_size=4, in_channels=2, num_classes=5, hidden_dim=24, num_layers=2, num_heads=3, mlp_dim=40
)


def small(**changes) -> ViT:
    return ViT(ViTConfig(**{**SMALL, **changes})).eval()


# The counts of timm and torchvision, for 1000 classes at 224, and the width of a head, which changes no count.
PUBLISHED = {
    "vit-ti/16": (5_717_416, 64),
    "vit-s/16": (22_050_664, 64),
    "vit-b/16": (86_567_656, 64),
    "vit-l/16": (304_326_632, 64),
    "vit-h/14": (632_045_800, 80),
    "tiny-cifar": (119_194, 12),
}


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_the_published_sizes(name):
    config = ViTConfig.preset(name)
    with torch.device("meta"):
        parameters = sum(p.numel() for p in ViT(config).parameters())
    assert (parameters, config.head_dim) == PUBLISHED[name] and config.num_parameters == parameters


@pytest.mark.parametrize("position", ["learned", "sincos2d", "none"])
@pytest.mark.parametrize("pool", ["cls", "mean"])
@pytest.mark.parametrize("registers", [0, 3])
def test_registers_take_part_have_no_position_and_are_not_averaged(registers, pool, position):
    model, images = small(pool=pool, position=position, num_registers=registers), torch.randn(3, 2, 8, 12)
    first = int(pool == "cls")
    assert (model.config.num_prefix, model.config.num_positions) == (registers + first, 6 + first)
    x = model.positions(model.class_token(model.patch_embedding(images)))  # (B, N or N + 1, D)
    if registers:
        x = torch.cat([x[:, :first], model.registers.tokens.expand(3, -1, -1), x[:, first:]], dim=1)
    z = model.encoder(x)
    assert z.shape[1] == model.config.num_tokens == 6 + registers + first
    torch.testing.assert_close(model.features(images), z)
    y = z[:, 0] if pool == "cls" else z[:, registers:].mean(dim=1)
    torch.testing.assert_close(model(images), model.head(y))
    kinds = {"learned": LearnedPositions, "sincos2d": SinCos2DPositions, "none": torch.nn.Identity}
    assert isinstance(model.positions, kinds[position]) and model.config.grid == (2, 3)


@pytest.mark.parametrize("hidden", [0, 7])
def test_a_model_without_a_head_has_features_and_says_that_it_has_no_logits(hidden):
    model, images = small(num_classes=0, representation_size=hidden), torch.randn(3, 2, 8, 12)
    assert not any(key.startswith("head.") for key in model.state_dict())
    assert model.features(images).shape == (3, 7, 24)
    with pytest.raises(ValueError, match=r"no head and gives no logits: features\(images\) .* adds a fresh"):
        model(images)


@pytest.mark.parametrize("classes", [2, 10, 1000])
@pytest.mark.parametrize("width", [24, 384])
def test_first_loss_is_the_logarithm_of_the_classes(classes, width):
    model = small(num_classes=classes, hidden_dim=width)
    loss = F.cross_entropy(model(torch.randn(64, 2, 8, 12)), torch.randint(classes, (64,)))
    assert abs(loss.item() - math.log(classes)) < 0.1 * math.log(classes)
    assert model(torch.randn(4, 2, 8, 12)).std() > 0  # small, but a gradient reaches the body


@pytest.mark.parametrize("part", [MLP(12, 20, dropout=0.5), Encoder(4, 12, 3, 20, dropout=0.5)])
def test_dropout_only_in_training(part):
    x = torch.randn(2, 5, 12)
    part.train()
    assert not torch.equal(part(x), part(x))
    part.eval()
    assert torch.equal(part(x), part(x))


def test_gelu_and_bias_reach_the_blocks():
    model = small(gelu="tanh", qkv_bias=False, dropout=0.1, attention_dropout=0.2)
    block = model.encoder.blocks[0]
    assert block.mlp.gelu.approximate == "tanh" and block.attention.qkv.bias is None
    assert (block.attention.dropout.p, block.attention.attention_dropout.p, block.mlp.dropout.p) == (0.1, 0.2, 0.1)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((3, 2, 12, 8), r"takes images \(B, 2, 8, 12\), got shape \(3, 2, 12, 8\)"),
        ((3, 3, 8, 12), "images have 3 channels, but the model takes 2"),
        ((0, 2, 8, 12), "batch is empty"),
    ],
)
def test_images_that_do_not_fit(shape, message):
    with pytest.raises(ValueError, match=message):
        small()(torch.zeros(shape))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image_size": (8, 13)}, "image width 13 is not a multiple of patch size 4"),
        ({"num_heads": 5}, "hidden_dim 24 is not a multiple of num_heads 5"),
        ({"position": "sincos2d", "hidden_dim": 6, "num_heads": 1}, "multiple of 4, got 6"),
    ],
)
def test_sizes_that_do_not_fit_together(changes, message):
    with pytest.raises(ValueError, match=message):
        small(**changes)


def test_config_round_trip_presets_and_changes():
    config = ViTConfig.preset("vit-s/16", image_size=(224, 160), num_classes=7)
    assert config.image_size == (224, 160) and config.grid == (14, 10) and config.head_dim == 64
    assert ViTConfig(**config.to_dict()) == config
    assert set(PRESETS) == set(PUBLISHED)
    for name in ("vit-x/9", ["vit-b/16"]):
        with pytest.raises(ValueError, match=r"unknown preset .*'vit-.*; the presets are tiny-cifar, vit-ti/16"):
            ViTConfig.preset(name)


def test_every_layer_that_draws_weights_is_in_the_model(monkeypatch):
    # One that is built and thrown away shifts the random numbers, and so all weights, of what is built after it.
    drawn, real = [], nn.Linear.reset_parameters
    monkeypatch.setattr(nn.Linear, "reset_parameters", lambda layer: drawn.append(layer) or real(layer))
    for changes in (
        {}, {"representation_size": 5}, {"pool": "mean", "position": "none"}, {"patch_norm": True}, {"num_classes": 0}
    ):  # fmt: skip
        drawn.clear()
        sizes = dict(num_classes=3, hidden_dim=8, num_layers=2, num_heads=2, mlp_dim=12)
        model = ViT(ViTConfig(8, 4, **{**sizes, **changes}))
        assert set(drawn) == {module for module in model.modules() if isinstance(module, nn.Linear)}


OPTIONS = dict(
    pool=("cls", "mean"),
    position=("learned", "sincos2d", "none"),
    qkv_bias=(True, False),
    representation_size=(0, 7),
    patch_norm=(True, False),
    num_registers=(0, 3),
    num_classes=(0, 5),
)


@pytest.mark.slow
@pytest.mark.parametrize("options", list(itertools.product(*OPTIONS.values())))
def test_parameters_are_counted_as_they_are(options):
    config = ViTConfig(**{**SMALL, **dict(zip(OPTIONS, options, strict=True))})
    assert config.num_parameters == sum(p.numel() for p in ViT(config).parameters())


NAN = float("nan")
# What each field must be, and three values that it must not have; what else a rule refuses is in tests/test_rules.py.
RULES = {
    "(an int of )?at least 1": (
        ("patch_size", "in_channels", "hidden_dim", "num_layers", "num_heads", "mlp_dim"), (0, 1.0, True)
    ),
    "(an int of )?at least 0": (("num_classes", "num_registers", "representation_size"), (-1, None, np.int64(4))),
    "(at least 0 and less than 1|a number)": (("dropout", "attention_dropout"), (1, "0", NAN)),
    "(at least 1e-30|at most 1.0|a number)": (("norm_epsilon",), (0, 2, NAN)),
    "True or False": (("qkv_bias", "patch_norm"), ("no", 0, np.bool_(True))),
    r"'\w+'.* or '\w+'": (("pool", "position", "gelu"), ("", "CLS", np.array(["cls", "mean"]))),
    r"an int or \(height, width\), two ints of at least 1": (("image_size",), ((8, 0), (8, 8, 3), 8.0, {8, 12})),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_each_field_has_its_rule(rule):
    names, values = RULES[rule]
    for name, value in itertools.product(names, values):
        with pytest.raises(ValueError, match=f"^{name} must be {rule}, got "):
            ViTConfig(**{**SMALL, name: value})


def test_no_field_is_without_a_rule():
    assert {name for names, _ in RULES.values() for name in names} == {field.name for field in fields(ViTConfig)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_registers": 2000}, "num_registers must be at most 1024, got 2000"),
        ({"hidden_dim": 100_000_000}, "hidden_dim must be at most 65536, got 100000000"),
        ({"num_layers": 10**9}, "num_layers must be at most 1024, got 1000000000"),
        ({"image_size": 1_000_000}, "image_size must be at most 65536, got 1000000"),
        ({"image_size": 8192}, "has 4194305 tokens, but at most 1048577 are allowed$"),
        (
            {"hidden_dim": 60_000, "mlp_dim": 60_000, "num_layers": 9},
            r"has \d+ parameters, but at most 50000000000 are",
        ),
    ],
)
def test_sizes_have_an_upper_end(changes, message):
    with pytest.raises(ValueError, match=message):
        ViTConfig(**{**SMALL, **changes})


def test_the_largest_published_models_are_taken():
    # ViT-22B (arXiv:2302.05442, Table 1), and an image of 4096 x 4096 in patches of 4.
    config = ViTConfig(224, 14, 21_000, 6144, 48, 48, 24_576)
    assert 21e9 < config.num_parameters < 23e9
    assert ViTConfig(**{**SMALL, "image_size": [4096, 4096]}).num_tokens == 2**20 + 1
