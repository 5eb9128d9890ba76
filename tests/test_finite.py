"""Finite weights that are too large: what a model makes of them is refused where it leaves, and is never NaN."""

import copy

import pytest
import torch
from conftest import ROOT
from runs import SIZES, new_model, new_run

from vit_course import data, pretrained, training
from vit_course.__main__ import main
from vit_course._support.files.weights import load_weights, write_tensors
from vit_course._support.inputs.tensors import need_finite
from vit_course.config import ViTConfig
from vit_course.explorer import explore
from vit_course.maps import attention_gradients, interpret, record_attention
from vit_course.vit import ViT

CAT = ROOT / "res" / "photographs" / "cat.jpg"
IMAGES = torch.randn(2, 3, 8, 12, generator=torch.Generator().manual_seed(0))
HEAD, QUERIES, LAST = "head.weight", "encoder.blocks.0.attention.qkv.weight", "encoder.norm.weight"


def spoilt(key: str) -> ViT:
    model = ViT(ViTConfig(**SIZES)).eval()
    with torch.no_grad():
        dict(model.named_parameters())[key].fill_(3e38)
    return model


def run_with(folder, key):
    path = new_run(folder) / "best.safetensors"
    tensors, metadata = load_weights(path)
    write_tensors(path, {**tensors, key: torch.full_like(tensors[key], 3e38)}, metadata)
    return folder


@pytest.mark.parametrize("key", [HEAD, QUERIES, LAST])
def test_commands_say_so_and_print_no_number(key, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = run_with(tmp_path, key)
    for arguments in (["classify", str(CAT)], ["explore", str(CAT), "-o", "page.html"]):
        assert main([*arguments, "--weights", str(run)]) == 2
        out, err = capsys.readouterr()
        assert "nan" not in out and "%" not in out and err.startswith("error: "), arguments
        assert "finite" in err or "NaN or infinite" in err
        assert not (tmp_path / "page.html").exists()


def recorded(model):
    with torch.no_grad(), record_attention(model) as maps:
        model(IMAGES)
    return maps


SET = data.shapes(20, 10, 10, image_size=(8, 12))


@pytest.mark.parametrize(
    ("key", "call", "message"),
    [
        (HEAD, lambda model: training.evaluate(model, SET.test, SET), "the loss must be finite, but the model gave"),
        (QUERIES, lambda model: recorded(model).stacked(), "the maps of layer 0 must be finite, but the model gave"),
        (QUERIES, lambda model: recorded(model).queries_and_keys(), "queries must be finite, but the model gave"),
        (HEAD, lambda model: attention_gradients(model, IMAGES, torch.tensor([0, 1])), "logits must be finite, but"),
        (HEAD, lambda model: pretrained.stages(model, IMAGES), "logits must be finite, but the model gave {} of 10"),
        (LAST, lambda model: pretrained.stages(model, IMAGES), "^norm must be finite, but the model gave"),
        (HEAD, lambda model: explore(model, IMAGES[:1].sigmoid(), preprocess=lambda x: x), "what the model says must"),
        (QUERIES, lambda model: explore(model, IMAGES[:1].sigmoid(), preprocess=lambda x: x), "must be finite|are NaN"),
    ],
)
def test_what_leaves_is_looked_at(key, call, message):
    model = spoilt(key)
    with torch.no_grad():  # large numbers may cancel, in another order of their sum than here
        count = int((~model(IMAGES).isfinite()).sum())
    with pytest.raises(ValueError, match=message.format(count)):
        call(model)


def test_the_features_of_a_probe_and_the_relevance():
    model = ViT(ViTConfig(**{**SIZES, "pool": "cls"})).eval()
    with torch.no_grad():
        model.encoder.blocks[1].mlp.contract.weight.fill_(3e38)
    pictures = torch.randint(0, 256, (2, 3, 8, 12), dtype=torch.uint8)
    preprocess = pretrained.bundled.AsTrained((8, 12), (0.5,) * 3, (0.5,) * 3)
    with pytest.raises(ValueError, match="the class tokens must be finite"):
        pretrained.class_tokens(model, preprocess, pictures)
    maps = torch.full((1, 3, 1, 4, 4), 0.25)
    with pytest.raises(ValueError, match="the relevance must be finite"):
        interpret.relevance(maps, torch.full_like(maps, 3e38))


def test_one_logit_of_minus_infinity_is_seen_although_the_loss_is_finite():
    model = copy.deepcopy(new_model())
    model.head.register_forward_hook(lambda *given: given[2].index_fill(1, torch.tensor([4]), -torch.inf))
    dataset = data.shapes(20, 10, 10, image_size=(12, 8))
    images = dataset.test[(dataset.test.labels != 4).nonzero()[:, 0]]
    with pytest.raises(ValueError, match="the loss must be finite"):
        training.evaluate(model, images, dataset)


def test_what_is_finite_is_given_back_itself():
    x = torch.tensor([3e38, -3e38])
    assert need_finite("x", x) is x
    with pytest.raises(ValueError, match=r"x must be finite, but the model gave 1 of 2 .* too large for float16"):
        need_finite("x", torch.tensor([1.0, torch.nan]).half())
