"""What a `ViTConfig` refuses, and the number of parameters that it counts without a model."""

import itertools
import re
import subprocess
import sys

import numpy as np
import pytest
import torch
from conftest import cases

from vit_course.config import PRESETS, ViTConfig
from vit_course.vit import ViT

SMALL = dict(
    image_size=(8, 12), patch_size=4, in_channels=2, num_classes=5, hidden_dim=24, num_layers=2, num_heads=3, mlp_dim=40
)
INTS = ("patch_size", "in_channels", "hidden_dim", "num_layers", "num_heads", "mlp_dim")
NO_NUMBERS = ["8", None, True, [8], float("nan"), np.float32(0.5)]
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


@cases("name", PRESETS)
def test_parameters_of_the_presets(name):
    config = ViTConfig.preset(name)
    with torch.device("meta"):
        assert config.num_parameters == sum(p.numel() for p in ViT(config).parameters())


@cases("value", [0, -1, 1.0, 1.5, "x", None, True, np.int64(4), [4], float("nan"), float("inf")])
@cases("name", INTS)
def test_sizes_are_ints_of_at_least_1(name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be (an int of )?at least 1, got {re.escape(repr(value))}$"):
        ViTConfig(**{**SMALL, name: value})


@cases("value", [-1, 1.0, "x", None, True, np.int64(4), [4], float("nan")])
@cases("name", ["num_classes", "num_registers", "representation_size"])
def test_sizes_of_what_need_not_be_there(name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be (an int of )?at least 0, got {re.escape(repr(value))}$"):
        ViTConfig(**{**SMALL, name: value})


@cases(("pool", "registers", "prefix"), [("cls", 0, 1), ("cls", 3, 4), ("mean", 0, 0), ("mean", 3, 3)])
def test_registers_count_as_tokens_and_have_no_position(pool, registers, prefix):
    config = ViTConfig(**SMALL, pool=pool, num_registers=registers)
    assert (config.num_prefix, config.num_tokens) == (prefix, prefix + 6)
    assert config.num_positions == 6 + (pool == "cls")


@cases(
    ("changes", "message"),
    [
        ({"num_registers": 2000}, "num_registers must be at most 1024, got 2000"),
        ({"hidden_dim": 100_000_000}, "hidden_dim must be at most 65536, got 100000000"),
        ({"num_layers": 10**9}, "num_layers must be at most 1024, got 1000000000"),
        ({"image_size": 1_000_000}, "image_size must be at most 65536, got 1000000"),
        ({"image_size": 8192}, "has 4194305 tokens, at most 1048577 are taken$"),
        (
            {"hidden_dim": 60_000, "mlp_dim": 60_000, "num_layers": 9},
            r"has \d+ parameters, at most 50000000000 are taken$",
        ),
        ({"representation_size": -1}, "representation_size must be at least 0, got -1"),
        ({"representation_size": True}, "representation_size must be an int of at least 0, got True"),
    ],
)
def test_sizes_have_an_upper_end(changes, message):
    with pytest.raises(ValueError, match=message):
        ViTConfig(**{**SMALL, **changes})


def test_the_largest_published_models_are_taken():
    # ViT-22B (arXiv:2302.05442, Table 1), and an image of 4096 x 4096 in patches of 4.
    config = ViTConfig(224, 14, 21_000, 6144, 48, 48, 24_576)
    assert 21e9 < config.num_parameters < 23e9
    assert ViTConfig(**{**SMALL, "image_size": 4096}).num_tokens == 2**20 + 1


@cases("size", [(8.0, 8), (8, "8"), (8, True), (8, 0), (8, -4), (), (8,), (8, 8, 3), "88", None, 8.0, True, {8, 12}])
def test_image_sizes(size):
    with pytest.raises(
        ValueError, match=r"^image_size must be an int or \(height, width\), two ints of at least 1, got "
    ):
        ViTConfig(**{**SMALL, "image_size": size})


def test_a_list_of_two_is_an_image_size():
    assert ViTConfig(**{**SMALL, "image_size": [8, 12]}) == ViTConfig(**SMALL)


@cases("name", ["dropout", "attention_dropout"])
@cases("value", [-0.1, 1, 1.0, float("inf"), *NO_NUMBERS])
def test_rates(name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be (at least 0 and less than 1|a number), got "):
        ViTConfig(**{**SMALL, name: value})


@cases("value", [0, -1e-6, 2, float("inf"), *NO_NUMBERS])
def test_epsilon(value):
    with pytest.raises(ValueError, match=r"^norm_epsilon must be (at least 1e-30|at most 1.0|a number), got "):
        ViTConfig(**{**SMALL, "norm_epsilon": value})


@cases("name", ["qkv_bias", "patch_norm"])
@cases("value", ["no", 0, 1, None, 1.0, np.bool_(True)])
def test_flags(name, value):
    with pytest.raises(ValueError, match=f"^{name} must be True or False, got "):
        ViTConfig(**{**SMALL, name: value})


@cases("name", ["pool", "position", "gelu"])
@cases("value", ["", "CLS", None, 0, ["cls"], np.array(["cls", "mean"])])
def test_words(name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be '\w+'.* or '\w+', got "):
        ViTConfig(**{**SMALL, name: value})


def test_a_preset_that_is_no_word():
    with pytest.raises(ValueError, match=r"unknown preset \['vit-b/16'\]; known are tiny-cifar"):
        ViTConfig.preset(["vit-b/16"])


def test_a_value_without_a_text_does_not_hide_the_sentence():
    class Mute:
        def __repr__(self):
            raise RuntimeError("no text")

    with pytest.raises(ValueError, match="hidden_dim must be an int of at least 1, got Mute"):
        ViTConfig(**{**SMALL, "hidden_dim": Mute()})
    for name in ("hidden_dim", "norm_epsilon"):  # an int of so many digits has no text
        with pytest.raises(ValueError, match=rf"{name} must be at most [\d.]+, got an int too long to show"):
            ViTConfig(**{**SMALL, name: 10**6000})
    with pytest.raises(ValueError, match=r"got Tensor of shape \(9, 9\) of torch\.float32$"):
        ViTConfig(**{**SMALL, "hidden_dim": torch.zeros(9, 9)})


def test_a_config_and_a_recipe_need_no_torch():
    code = "import sys, vit_course.config, vit_course.training.recipe; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
