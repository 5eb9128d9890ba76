"""Folders of every family, as timm and transformers save them: model, preprocessing and names of the classes."""

import pytest
import torch
import transformers
from families import OF_HUGGINGFACE, of_huggingface
from PIL import Image
from published import shaken
from saved import HOPPER, change, huggingface, same, timm_folder
from test_families import close

from vit_course.pretrained import Preprocessing, load_run

pytestmark = pytest.mark.slow

SQUARE = {"height": 21, "width": 21}
PROCESSORS = {
    "ViT": {"size": SQUARE},
    "DeiT": {"size": {"height": 24, "width": 24}, "crop_size": SQUARE},
    "Bit": {"size": {"shortest_edge": 25}, "crop_size": SQUARE},
    "CLIP": {"size": {"shortest_edge": 21}, "crop_size": SQUARE},
    "Siglip": {"size": SQUARE},
}


@pytest.mark.parametrize("name", OF_HUGGINGFACE)
@torch.no_grad()
def test_a_folder_of_hugging_face(name, tmp_path):
    case = OF_HUGGINGFACE[name]
    theirs = shaken(case.make())
    theirs.save_pretrained(tmp_path)
    kind = f"{case.processor}ImageProcessor"
    getattr(transformers, kind)(**PROCESSORS[case.processor]).save_pretrained(tmp_path)
    model, preprocess, class_names = load_run(tmp_path)
    images = preprocess(HOPPER)
    reference = getattr(transformers, kind).from_pretrained(tmp_path)(Image.open(HOPPER))["pixel_values"][0]
    same(images, reference[None])
    expected = of_huggingface(theirs, images)
    features = model.features(images)
    close(features, expected["features"])
    if "pooled" in expected and "classes" not in name:
        close(model.pooled(features) if "SigLIP" in name else model.pre_logits(features[:, 0]), expected["pooled"])
    if "logits" in expected:
        close(model(images), expected["logits"])
        if "Classification" in case.kind:
            assert class_names == [f"LABEL_{i}" for i in range(5)]
        else:
            assert class_names == [] and model.config.num_classes == 11
            with pytest.raises(ValueError, match="gives an embedding of 11 numbers, not classes"):
                load_run(tmp_path).top(HOPPER)
    else:
        assert class_names == [] and model.config.num_classes == 0


@pytest.mark.parametrize("kind", PROCESSORS)
@pytest.mark.parametrize("given", [{}, {"resample": 2, "image_mean": [0.3, 0.4, 0.5], "image_std": [0.2, 0.3, 0.4]}])
def test_the_processors_of_hugging_face_on_a_picture_of_odd_sides(kind, given):
    processor = getattr(transformers, f"{kind}ImageProcessor")(**given)
    for picture in (Image.open(HOPPER).resize((301, 417)), Image.open(HOPPER).resize((513, 259)).convert("L")):
        expected = torch.as_tensor(processor(picture.convert("RGB"))["pixel_values"][0][None])
        same(Preprocessing.from_huggingface(processor.to_dict())(picture), expected)


@pytest.mark.parametrize("kind", PROCESSORS)
def test_the_processors_on_pillow(kind):
    processor = getattr(transformers, f"{kind}ImageProcessorPil")()
    picture = Image.open(HOPPER).resize((300, 416))
    expected = torch.as_tensor(processor(picture)["pixel_values"][0][None])
    same(Preprocessing.from_huggingface(processor.to_dict(), on_tensor=False)(picture), expected)


TIMM_NAMES = {
    "vit_tiny_patch16_224": {"num_classes": 5},
    "vit_base_patch16_224_miil": {"num_classes": 5},
    "deit3_small_patch16_224": {},
    "deit_tiny_distilled_patch16_224": {},
    "vit_small_patch14_dinov2": {"num_classes": 0},
    "vit_small_patch14_reg4_dinov2": {"num_classes": 0},
    "vit_base_patch16_clip_224": {},
    "vit_base_patch32_clip_quickgelu_224": {},
    "vit_base_patch16_siglip_224": {"num_classes": 0},
    "vit_so400m_patch16_siglip_256": {"num_classes": 0},
    "vit_base_patch16_siglip_gap_224": {"num_classes": 0},
    "vit_medium_patch16_reg4_gap_256": {},
    "vit_base_patch16_reg4_gap_256": {},
    "vit_base_patch16_224": {"global_pool": "avg"},
    "vit_large_patch16_siglip_512": {"num_classes": 0, "act_layer": "gelu"},
}


@pytest.mark.parametrize("name", TIMM_NAMES)
@torch.no_grad()
def test_a_folder_of_timm(name, tmp_path):
    theirs = timm_folder(tmp_path, name, **TIMM_NAMES[name])
    model, preprocess, class_names = load_run(tmp_path)
    images = torch.randn(2, 3, 32, 32)
    close(model.features(images), theirs.forward_features(images))
    assert len(class_names) == theirs.num_classes == model.config.num_classes
    if class_names:
        close(model(images), theirs(images))
    assert preprocess(HOPPER).shape == (1, 3, 32, 32)


def test_a_config_that_contradicts_the_weights(tmp_path):
    huggingface(tmp_path / "pooler", transformers.ViTModel, pooler_act="relu")
    shaken(OF_HUGGINGFACE["DINOv2 with registers"].make()).save_pretrained(tmp_path / "bit")
    transformers.BitImageProcessor(**PROCESSORS["Bit"]).save_pretrained(tmp_path / "bit")
    for folder, values, message in (
        ("pooler", {}, "pooler_act must be 'tanh', got 'relu'"),
        ("bit", {"num_register_tokens": 5}, "have 'embeddings.register_tokens' of shape"),
        ("bit", {"mlp_ratio": 3}, "the weights have '.*mlp.* of shape"),
        ("bit", {"use_swiglu_ffn": True}, "its MLP is a SwiGLU"),
    ):
        path = tmp_path / folder / "config.json"
        content = path.read_text()
        change(path, **values)
        with pytest.raises(ValueError, match=message):
            load_run(tmp_path / folder)
        path.write_text(content)
