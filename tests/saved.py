"""Folders that transformers and timm save, with tiny models in them, and a pickle that would run code."""

import json
import os
from pathlib import Path

import timm
import torch
import transformers
from matplotlib.cbook import get_sample_data
from published import shaken

HOPPER = str(get_sample_data("grace_hopper.jpg", asfileobj=False))
NAMES = ["circle", "square", "triangle", "cross", "ring"]
SMALL = {
    **{"hidden_size": 36, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 20},
    **{"image_size": 24, "patch_size": 8},
}
TINY = {"img_size": 32, "patch_size": 8, "embed_dim": 36, "depth": 2, "num_heads": 3, "num_classes": 5}


def huggingface(folder: Path, kind=transformers.ViTForImageClassification, shards="1GB", **config):
    """A model and its processor, saved by transformers; -> the model."""
    labels = {"id2label": dict(enumerate(NAMES)), "label2id": {name: i for i, name in enumerate(NAMES)}}
    model = shaken(kind(transformers.ViTConfig(**{**SMALL, **labels, **config})))
    model.save_pretrained(folder, max_shard_size=shards)
    transformers.ViTImageProcessor(size={"height": 24, "width": 24}).save_pretrained(folder)
    return model


def timm_folder(folder: Path, name="vit_tiny_patch16_224", safe=True, model_config=None, **arguments):
    """A model of timm, saved by timm; -> the model."""
    model = shaken(timm.create_model(name, **{**TINY, **arguments}))
    timm.models.save_for_hf(model, folder, model_config=model_config, safe_serialization=safe)
    return model


def change(path: Path, **values) -> None:
    """Changes values in a JSON file; None removes one."""
    content = json.loads(path.read_text()) | values
    path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def same(ours, theirs):
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=0)


class Payload:
    """An object that makes a folder when it is unpickled without restrictions."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)
