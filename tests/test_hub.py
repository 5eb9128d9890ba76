"""Published models by name: folders that the real libraries saved here."""

import json

import published
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from saved import HOPPER, NAMES, change, huggingface, same, timm_folder

from vit_course.pretrained import from_pretrained


def test_the_old_files_of_huggingface(tmp_path):
    # The published ones: names of version 4 in the weights, a bare size, no entry for what is usual.
    theirs = huggingface(tmp_path)
    state = published.old_huggingface_names(load_file(tmp_path / "model.safetensors"))
    save_file(state, tmp_path / "model.safetensors")
    change(tmp_path / "config.json", num_channels=None, qkv_bias=None, dtype=None, pooler_act=None)
    old = {"do_normalize": True, "do_resize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "size": 24}
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(old))
    images = torch.randn(2, 3, 24, 24)
    same(from_pretrained(tmp_path).model(images), theirs(images).logits)


def test_class_names_of_timm(tmp_path):
    timm_folder(tmp_path, model_config={"label_names": NAMES})
    assert from_pretrained(tmp_path).class_names == NAMES
    change(tmp_path / "config.json", label_descriptions={"ring": "a ring, a circle with a hole"})
    assert from_pretrained(tmp_path).class_names == [*NAMES[:4], "a ring, a circle with a hole"]
    timm_folder(tmp_path, num_classes=1000)
    change(tmp_path / "config.json", label_names=None, label_descriptions=None)
    names = from_pretrained(tmp_path).class_names
    assert len(names) == 1000 and names[0] == "tench" and names[652] == "military uniform"
    timm_folder(tmp_path, num_classes=0)  # as the weights of MAE and DINO come
    assert from_pretrained(tmp_path).class_names == []
    assert from_pretrained(tmp_path, num_classes=1000).class_names[0] == "class 0"


def test_the_top_classes(tmp_path):
    theirs = huggingface(tmp_path)
    published = from_pretrained(tmp_path, num_classes=5)  # as many as it has: its own head stays
    best = published.top(HOPPER, count=3)
    probabilities = theirs(published.preprocess(HOPPER)).logits.softmax(dim=1)[0]
    order = probabilities.argsort(descending=True)[:3].tolist()
    assert [name for name, _ in best] == [NAMES[i] for i in order]
    assert [p for _, p in best] == pytest.approx(probabilities[order].tolist(), abs=1e-5)
    assert len(published.top(Image.open(HOPPER), count=99)) == 5
    assert repr(published).startswith("Pretrained(ViTConfig(") and "5 class names" in repr(published)
    published.model.double()
    assert published.top(HOPPER)[0][0] == best[0][0]
