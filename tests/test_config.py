"""What a `ViTConfig` refuses, and the number of parameters that it counts without a model."""

import itertools
from dataclasses import fields

import numpy as np
import pytest
from conftest import cases

from vit_course.config import ViTConfig
from vit_course.vit import ViT

SMALL = dict(
    image_size=(8, 12), patch_size=4, in_channels=2, num_classes=5, hidden_dim=24, num_layers=2, num_heads=3, mlp_dim=40
)
OPTIONS = dict(
    pool=("cls", "mean"),
    position=("learned", "sincos2d", "none"),
    qkv_bias=(True, False),
    representation_size=(0, 7),
    patch_norm=(True, False),
    num_registers=(0, 3),
    num_classes=(0, 5),
)


@cases("options", list(itertools.product(*OPTIONS.values())))
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


@cases("rule", RULES)
def test_each_field_has_its_rule(rule):
    names, values = RULES[rule]
    for name, value in itertools.product(names, values):
        with pytest.raises(ValueError, match=f"^{name} must be {rule}, got "):
            ViTConfig(**{**SMALL, name: value})


def test_no_field_is_without_a_rule():
    assert {name for names, _ in RULES.values() for name in names} == {field.name for field in fields(ViTConfig)}


@cases(
    ("changes", "message"),
    [
        ({"num_registers": 2000}, "num_registers must be at most 1024, got 2000"),
        ({"hidden_dim": 100_000_000}, "hidden_dim must be at most 65536, got 100000000"),
        ({"num_layers": 10**9}, "num_layers must be at most 1024, got 1000000000"),
        ({"image_size": 1_000_000}, "image_size must be at most 65536, got 1000000"),
        ({"image_size": 8192}, "has 4194305 tokens, at most 1048577 are taken$"),
        ({"hidden_dim": 60_000, "mlp_dim": 60_000, "num_layers": 9}, r"has \d+ parameters, at most 50000000000 are"),
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
