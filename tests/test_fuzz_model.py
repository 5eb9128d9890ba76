"""Drawn configs, sizes and tensors for the model and its parts: a right result, or a sentence of ours."""

import json
from dataclasses import asdict

import pytest
import strategies
import torch
from conftest import cases
from hypothesis import given
from hypothesis import strategies as st
from strategies import REFUSED, fuzz, given_by_name, is_tame, mostly, outcome, sums_to_one, tensors

from vit_course.attention import AttentionHead, SelfAttention, attention_weights
from vit_course.config import ViTConfig
from vit_course.embeddings import (
    ClassToken,
    LearnedPositions,
    RegisterTokens,
    SinCos2DPositions,
    interpolate_positions,
    sincos2d,
)
from vit_course.encoder import MLP, Encoder, EncoderBlock
from vit_course.patches import NormedPatchEmbedding, PatchEmbedding, patchify, unpatchify
from vit_course.training import TrainingConfig
from vit_course.vit import ViT

pytestmark = pytest.mark.slow
SIZE, FLAG, SHARE = st.integers(1, 5), st.booleans(), st.floats(0, 0.9)
WIDTH = st.sampled_from([4, 8, 12, 24])
SIDES = st.tuples(SIZE, SIZE)
FIELDS = dict(
    image_size=st.sampled_from([4, 12, (8, 12), [12, 4], 7]),
    patch_size=st.sampled_from([4, 2, 1]),
    num_classes=st.integers(0, 5),
    hidden_dim=WIDTH,
    num_layers=st.integers(1, 3),
    num_heads=st.sampled_from([1, 2, 4, 3]),
    mlp_dim=SIZE,
    in_channels=SIZE,
    pool=st.sampled_from(["cls", "mean"]),
    position=st.sampled_from(["learned", "sincos2d", "none"]),
    qkv_bias=FLAG,
    dropout=SHARE,
    attention_dropout=SHARE,
    gelu=st.sampled_from(["none", "tanh"]),
    norm_epsilon=st.floats(1e-12, 1e-3),
    representation_size=st.integers(0, 5),
    patch_norm=FLAG,
    num_registers=st.integers(0, 4),
)
RECIPE = dict(
    epochs=SIZE,
    batch_size=SIZE,
    learning_rate=st.floats(1e-6, 1),
    warmup=SHARE,
    weight_decay=SHARE,
    optimiser=st.sampled_from(["adamw", "muon"]),
    beta2=SHARE,
    label_smoothing=SHARE,
    clip_norm=st.floats(0, 9),
    padding=st.integers(0, 3),
    flip=FLAG,
    cutout=st.integers(0, 3),
    average=SHARE,
    precision=st.sampled_from(["float32", "bfloat16"]),
    seed=st.integers(0, 99),
)


@fuzz(250)
@given(given_by_name(**FIELDS))
def test_a_config_is_one_that_json_can_hold_or_is_refused(fields):
    config = outcome(ViTConfig, **fields)
    if config is not REFUSED:
        assert ViTConfig(**json.loads(json.dumps(config.to_dict()))) == config
        assert config.num_parameters > 0 and config.num_tokens >= 0


@fuzz(200)
@given(given_by_name(**RECIPE))
def test_a_recipe_is_one_that_json_can_hold_or_is_refused(fields):
    config = outcome(TrainingConfig, **fields)
    if config is not REFUSED:
        assert TrainingConfig(**json.loads(json.dumps(asdict(config)))) == config


@fuzz(150)
@given(given_by_name(**FIELDS), st.data())
def test_a_model_gives_finite_logits_or_says_what_is_wrong(fields, data):
    torch.manual_seed(0)
    config = outcome(ViTConfig, **fields)
    model = REFUSED if config is REFUSED else outcome(ViT, config)
    if model is REFUSED:
        return
    assert sum(parameter.numel() for parameter in model.parameters()) == config.num_parameters
    images = data.draw(tensors(2, config.in_channels, *config.image_size))
    logits, tokens = outcome(model, images), outcome(model.features, images)
    assert (logits is REFUSED) == (tokens is REFUSED or config.num_classes == 0)
    if tokens is not REFUSED:
        assert tokens.shape == (len(images), config.num_tokens, config.hidden_dim)
    if logits is not REFUSED:
        assert logits.shape == (len(images), config.num_classes)
        if is_tame(images):
            assert logits.isfinite().all()


def patches(image):
    return lambda v: (
        (2, v["in_channels"], 2 * v["patch_size"], 3 * v["patch_size"]) if image else (2, 6, v["hidden_dim"])
    )


def tokens(more=0):
    return lambda v: (2, 7 + more, v["hidden_dim"])


def positions(v):
    return 2, v["grid"][0] * v["grid"][1] + v["class_token"], v["hidden_dim"]


BLOCK = dict(hidden_dim=WIDTH, num_heads=SIZE, mlp_dim=SIZE, qkv_bias=FLAG, dropout=SHARE, attention_dropout=SHARE,
             gelu=FIELDS["gelu"], norm_epsilon=FIELDS["norm_epsilon"])  # fmt: skip
EMBEDDING = dict(patch_size=SIZE, in_channels=SIZE, hidden_dim=WIDTH)
# What makes a part, of what, and the shapes of what goes into it and of what comes out.
PARTS = {
    PatchEmbedding: (EMBEDDING, patches(True), patches(False)),
    NormedPatchEmbedding: (EMBEDDING, patches(True), patches(False)),
    ClassToken: (dict(hidden_dim=WIDTH), tokens(), tokens(1)),
    RegisterTokens: (dict(num_registers=st.integers(0, 3), hidden_dim=WIDTH, class_token=FLAG),
                     tokens(), lambda v: (2, 7 + v["num_registers"], v["hidden_dim"])),
    LearnedPositions: (dict(num_tokens=st.just(7), hidden_dim=WIDTH), tokens(), tokens()),
    SinCos2DPositions: (dict(grid=SIDES, hidden_dim=WIDTH, class_token=FLAG), positions, positions),
    AttentionHead: (dict(hidden_dim=WIDTH, head_dim=SIZE, qkv_bias=FLAG), tokens(), lambda v: (2, 7, v["head_dim"])),
    SelfAttention: ({k: BLOCK[k] for k in ("hidden_dim", "num_heads", "qkv_bias", "dropout", "attention_dropout")},
                    tokens(), tokens()),
    MLP: ({k: BLOCK[k] for k in ("hidden_dim", "mlp_dim", "dropout", "gelu")}, tokens(), tokens()),
    EncoderBlock: (BLOCK, tokens(), tokens()),
    Encoder: (BLOCK | dict(num_layers=st.integers(1, 2)), tokens(), tokens()),
}  # fmt: skip


@cases("part", PARTS, ids=lambda part: part.__name__)
@fuzz(60)
@given(st.data())
def test_a_part_gives_its_shape_or_says_what_is_wrong(part, data):
    arguments, given_shape, wanted = PARTS[part]
    values = data.draw(given_by_name(**arguments))
    made = outcome(part, **values)
    if made is REFUSED:
        return
    x = data.draw(tensors(*given_shape(values)))
    result = outcome(made.eval(), x)
    if result is REFUSED:
        return
    if part is AttentionHead:
        result, weights = result
        assert not is_tame(x) or sums_to_one(weights)
    assert result.shape[2:] == wanted(values)[2:] and len(result) == len(x)
    if part is RegisterTokens:
        assert result.shape[1] == x.shape[1] + values["num_registers"]
    assert not is_tame(x) or result.isfinite().all()
    if part is SelfAttention:
        assert not is_tame(x) or sums_to_one(made.weights(x))


@fuzz(150)
@given(tensors(2, 3, 4, 6), mostly(st.sampled_from([2, 1])), mostly(st.sampled_from([(4, 6), [4, 6]])))
def test_unpatchify_undoes_patchify_or_refuses(images, patch_size, size):
    patches = outcome(patchify, images, patch_size)
    if patches is REFUSED:
        return
    assert patches.shape[2] == patch_size**2 * images.shape[1]
    back = outcome(unpatchify, patches, patch_size, tuple(images.shape[2:]))
    assert back.shape == images.shape and (images.is_meta or torch.equal(back.nan_to_num(), images.nan_to_num()))
    other = outcome(unpatchify, patches, patch_size, size)
    assert other is REFUSED or other.shape[2:] == tuple(size)


@fuzz(200)
@given(tensors(2, 4, 3, 5), tensors(2, 4, 6, 5))
def test_attention_weights_sum_to_one_or_are_refused(q, k):
    weights = outcome(attention_weights, q, k)
    if weights is not REFUSED:
        assert weights.shape[-2:] == (q.shape[-2], k.shape[-2])
        assert not (is_tame(q) and is_tame(k)) or sums_to_one(weights)


@fuzz(150)
@given(given_by_name(grid=SIDES, hidden_dim=WIDTH, temperature=st.floats(1, 1e6)))
def test_sincos2d_lies_between_minus_one_and_one_or_is_refused(values):
    table = outcome(sincos2d, **values)
    if table is not REFUSED:
        rows, columns = values["grid"]
        assert table.shape == (rows * columns, values["hidden_dim"]) and table.abs().max() <= 1


@fuzz(150)
@given(tensors(1, 7, 4), given_by_name(grid=st.just((2, 3)), new_grid=SIDES, class_token=FLAG, antialias=FLAG))
def test_interpolated_positions_have_a_row_for_each_patch_or_are_refused(table, options):
    resized = outcome(interpolate_positions, table, **options)
    if resized is not REFUSED:
        rows, columns = options["new_grid"]
        assert resized.shape == (1, rows * columns + options["class_token"], table.shape[2])
        assert not is_tame(table) or resized.isfinite().all()


def test_the_judge_of_the_fuzz_tests_knows_ours_from_others():
    with pytest.raises(ValueError) as ours:
        ViTConfig.preset("nothing")
    with pytest.raises(ValueError) as theirs:
        json.loads("{")
    with pytest.raises(TypeError) as python:
        ViTConfig(nothing=1)
    assert strategies.is_ours(ours.value)
    assert not strategies.is_ours(theirs.value) and not strategies.is_ours(python.value)
