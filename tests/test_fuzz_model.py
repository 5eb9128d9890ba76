"""Drawn configs, images and maps for the model and what is made of it: a right result, or a sentence of ours."""

import json

import pytest
import strategies
import torch
from hypothesis import given
from hypothesis import strategies as st
from runs import new_model
from strategies import REFUSED, fuzz, given_by_name, is_tame, mostly, outcome, sums_to_one, tensors

from vit_course.config import ViTConfig
from vit_course.maps import attention_gradients, record_attention
from vit_course.vit import ViT

pytestmark = pytest.mark.slow
SIZE, FLAG, SHARE = st.integers(1, 5), st.booleans(), st.floats(0, 0.9)
WIDTH = st.sampled_from([4, 8, 12, 24])
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


MODEL = new_model().eval()  # images (3, 12, 8) in 3 x 2 patches of 4, 7 tokens, 2 layers, 2 heads, 5 classes
CLASSES = tensors(2, dtype=torch.int64, make=lambda x: x.abs().clamp(max=4))


@fuzz(80)
@given(mostly(st.just(MODEL)), tensors(2, 3, 12, 8), CLASSES)
def test_recorded_maps_and_their_gradients_are_right_or_refused(model, images, classes):
    def record():
        with record_attention(model) as maps:
            model(images)
        return maps.stacked()

    if isinstance(model, torch.nn.Module) and model is not MODEL:
        return
    maps, found = outcome(record), outcome(attention_gradients, model, images, classes)
    if maps is not REFUSED:
        assert maps.shape == (len(images), 2, 2, 7, 7)
        assert not is_tame(images) or sums_to_one(maps)
    if found is not REFUSED:
        assert found[0].shape == found[1].shape == (len(images), 2, 2, 7, 7)
        assert not is_tame(images) or (sums_to_one(found[0]) and found[1].isfinite().all())


def test_the_judge_of_the_fuzz_tests_knows_ours_from_others():
    with pytest.raises(ValueError) as ours:
        ViTConfig.preset("nothing")
    with pytest.raises(ValueError) as theirs:
        json.loads("{")
    with pytest.raises(TypeError) as python:
        ViTConfig(nothing=1)
    assert strategies.is_ours(ours.value)
    assert not strategies.is_ours(theirs.value) and not strategies.is_ours(python.value)
