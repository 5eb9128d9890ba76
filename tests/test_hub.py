"""Published models by name: folders that the real libraries saved, and those that are damaged, foreign or a trap."""

import json
import pickle

import published
import pytest
import torch
import transformers
from PIL import Image
from safetensors.torch import load_file, save_file
from saved import HOPPER, NAMES, TINY, Payload, change, huggingface, same, timm_folder

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


def test_nothing_is_unpickled_freely(tmp_path):
    huggingface(tmp_path)
    weights, trace = tmp_path / "pytorch_model.bin", tmp_path / "it ran"
    weights.write_bytes(b"worse")
    assert from_pretrained(tmp_path).class_names == NAMES  # safetensors come before pickles
    state, key = load_file(tmp_path / "model.safetensors"), "vit.layernorm.bias"
    (tmp_path / "model.safetensors").unlink()
    for content, message in (
        ({**state, "extra": Payload(trace)}, r"pytorch_model\.bin is refused: .* more in it than tensors"),
        ({"state_dict": state}, "holds no state dict"),
        ({"epoch": 3, "model": state}, "'model' holds a dict, not a tensor: is the state dict inside it"),
        ({}, "the state dict is empty"),
        ([state], "not a list"),
        ({**state, key: state[key] * float("nan")}, f"'{key}' holds nan"),
    ):
        torch.save(content, weights)
        with pytest.raises(ValueError, match=message):
            from_pretrained(tmp_path)
    weights.write_bytes(pickle.dumps(Payload(trace)))
    with pytest.raises(ValueError, match=r"pytorch_model\.bin is refused"):
        from_pretrained(tmp_path)
    assert not trace.exists()
    pickle.loads(weights.read_bytes())
    assert trace.exists()  # so the trap works
    torch.save(state, weights)
    assert from_pretrained(tmp_path).class_names == NAMES


@pytest.mark.parametrize("safe", [True, False])
@pytest.mark.parametrize("share", [0, 0.5, 0.99])
def test_truncated_weights(share, safe, tmp_path):
    timm_folder(tmp_path, safe=safe)
    path = tmp_path / ("model.safetensors" if safe else "pytorch_model.bin")
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match=rf"{path.name} is (not a complete checkpoint|refused: it is damaged)"):
        from_pretrained(tmp_path)


OTHERS = [
    (transformers.SwinConfig(architectures=["SwinForImageClassification"]), "SwinForImageClassification", False),
    (transformers.ResNetConfig(), "resnet", False),
    (transformers.Dinov2Config(architectures=["Dinov2Backbone"]), "Dinov2Backbone", False),
    (transformers.BertConfig(architectures=["BertForMaskedLM"]), "BertForMaskedLM", False),
    (transformers.BeitConfig(architectures=["BeitModel"]), "BeitModel", True),
    (transformers.CLIPConfig(architectures=["CLIPForImageClassification"]), "CLIPForImageClassification", True),
    (transformers.ViTConfig(architectures=["ViTForMaskedImageModeling"]), "ViTForMaskedImageModeling", True),
    *((name, name, False) for name in ("swin_tiny_patch4_window7_224", "resnet18", "vit_odd_patch16_224")),
    *((name, name, True) for name in ("vit_small_patch16_dinov3", "beit_base_patch16_224", "vit_small_r26_s32_224")),
    *((name, name, True) for name in ("vit_base_patch16_rpn_224", "vit_base_patch16_xp_224")),
]


@pytest.mark.parametrize(("config", "name", "recorded"), OTHERS)
def test_other_architectures(config, name, recorded, tmp_path):
    if isinstance(config, str):
        (tmp_path / "config.json").write_text(json.dumps({"architecture": name, "pretrained_cfg": {}}))
    else:
        config.save_pretrained(tmp_path)
    words = f"this is a '?{name}'?, and of (this kind|Hugging Face|timm) only "
    with pytest.raises(ValueError, match=words) as caught:
        from_pretrained(tmp_path)
    assert ("its attention maps can still be recorded" in str(caught.value)) == recorded


@pytest.mark.parametrize(
    ("save", "values", "message"),
    [
        (huggingface, {"num_hidden_layers": 3}, "config.json says num_layers 3, but the weights have 2"),
        (
            huggingface,
            {"image_size": [32, 24]},
            r"config.json says image_size \(32, 24\), but the weights have \(24, 24\)",
        ),
        (huggingface, {"num_attention_heads": 5}, "hidden_dim 36 is not a multiple of num_heads 5"),
        (huggingface, {"hidden_act": "relu"}, "the activation is 'relu', and our ViT has a GELU only"),
        (huggingface, {"id2label": {"0": "one"}}, "config.json: .*there are 1 class names for 5 classes"),
        (huggingface, {"id2label": {str(i): i for i in range(5)}}, "the name of class 0 must be text, got 0"),
        (huggingface, {"id2label": {str(i): "x" for i in range(1, 6)}}, "the keys '0' to '4', and has no '0'"),
        (timm_folder, {"global_pool": "max", "model_args": TINY}, "global_pool is 'max', and our ViT does not do"),
        (timm_folder, {"global_pool": "map", "model_args": TINY}, "said to read an attention pooling"),
        (timm_folder, {"model_args": {**TINY, "depth": 3}}, "config.json says num_layers 3, but the weights have 2"),
        (timm_folder, {"model_args": {**TINY, "qkv_bias": False}}, "says qkv_bias False, but the weights have True"),
        (timm_folder, {"model_args": {**TINY, "qk_norm": True}}, "nothing like timm's argument qk_norm=True"),
        (timm_folder, {"model_args": {**TINY, "act_layer": "silu"}}, "the activation is 'silu'"),
        (timm_folder, {"pretrained_cfg": {"input_size": (3, 48, 48)}}, r"\(3, 48, 48\), but the model takes \(3, 32"),
    ],
)
def test_a_config_that_does_not_fit_the_weights(save, values, message, tmp_path):
    save(tmp_path)
    change(tmp_path / "config.json", **values)
    with pytest.raises(ValueError, match=f"{tmp_path.name}: .*{message}"):
        from_pretrained(tmp_path)


def test_files_that_are_missing_or_no_json(tmp_path):
    huggingface(tmp_path)
    for name, message in (
        ("model.safetensors", r"there are no weights: looked for model\.safetensors, .*, pytorch_model\.bin"),
        ("preprocessor_config.json", r"there is no preprocessor_config\.json, which says what the model takes"),
        ("config.json", r"there is no config\.json, which says what kind of model it is"),
    ):
        (tmp_path / name).unlink()
        with pytest.raises(ValueError, match=message):
            from_pretrained(tmp_path)
    for text, message in (("{", "is not valid JSON"), ("[1]", "must hold an object in curly brackets, got list")):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match=rf"config\.json {message}"):
            from_pretrained(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="this is a model of an unnamed architecture"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nothing", "there is no folder 'nothing', and it is not the name of published weights, such as 'vit_b_16'"),
        ("./no/such/folder", "there is no folder './no/such/folder'"),
        ("vit_base_patch16_224", "timm's name 'vit_base_patch16_224' needs the tag of its weights"),
        ("resnet18", "torchvision's resnet18 is not a plain Vision Transformer"),
        ("vit_b_16.OLD", "torchvision's vit_b_16 has no weights 'OLD', only IMAGENET1K_V1, IMAGENET1K_SWAG_E2E_V1"),
    ],
)
def test_names_that_nobody_has(name, message):
    with pytest.raises(ValueError, match=message):
        from_pretrained(name)


# ---- every value of every file
WRONG = [None, "x", "", [], [1], {}, {"a": 1}, True, 0, -1, 2.5, 10**9, float("nan"), float("inf")]
# What a file may say as well, or what is looked at by nobody.
FLAGS = ("qkv_bias", "layer_norm_eps", "do_resize", "do_rescale", "do_normalize", "crop_pct")
HARMLESS = {**{name: [True] for name in FLAGS}, "id2label": [None, "", [], {}, 0], "resample": [0]}
UNSAID = [None, "", [], {}, 0, False]  # in timm
SIZES = ["image_size", "patch_size", "num_channels", "hidden_size", "num_hidden_layers", "num_attention_heads",
         "intermediate_size", "qkv_bias", "layer_norm_eps", "hidden_act", "id2label"]  # fmt: skip
PROCESSOR = ["size", "image_mean", "image_std", "resample", "rescale_factor", "do_resize", "do_rescale", "do_normalize"]
TIMM_PARTS = ["architecture", "model_args", "pretrained_cfg", "label_names", "global_pool"]
TIMM_SIZES = ["img_size", "patch_size", "in_chans", "embed_dim", "depth", "num_heads", "qkv_bias"]
TIMM_PICTURES = ["input_size", "crop_pct", "interpolation", "mean", "std", "crop_mode"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("save", "file", "part", "fields", "unsaid"),
    [
        (huggingface, "config.json", None, SIZES, []),
        (huggingface, "preprocessor_config.json", None, PROCESSOR, []),
        (timm_folder, "config.json", None, TIMM_PARTS, UNSAID),
        (timm_folder, "config.json", "pretrained_cfg", TIMM_PICTURES, UNSAID),
        (timm_folder, "config.json", "model_args", TIMM_SIZES, [None]),
    ],
)
def test_every_value_of_every_file_is_looked_at(save, file, part, fields, unsaid, tmp_path):
    save(tmp_path)
    content = json.loads((tmp_path / file).read_text())
    within = TINY if part == "model_args" else content[part] if part else content
    for name in fields:
        for value in WRONG:
            if any(value is one or (value == one and value != 0) for one in [*unsaid, *HARMLESS.get(name, [])]):
                continue
            changed = {**within, name: value}
            (tmp_path / file).write_text(json.dumps({**content, part: changed} if part else changed))
            with pytest.raises(ValueError, match=tmp_path.name) as caught:
                from_pretrained(tmp_path)
            text, word = str(caught.value), "activation" if name == "hidden_act" else name.removeprefix("image_")
            assert "\n" not in text and len(text) < 1000, text
            assert word in text or fields in (TIMM_PARTS, TIMM_PICTURES), text
            assert file in text or fields in (SIZES, TIMM_PARTS), text


def test_an_index_that_names_no_parts(tmp_path):
    huggingface(tmp_path, shards="5KB")
    index = tmp_path / "model.safetensors.index.json"
    whole = json.loads(index.read_text())["weight_map"]
    key = next(iter(whole))
    for value in (None, 3, [], {}, True, "", ".", index.name, "config.json"):
        change(index, weight_map={**whole, key: value})
        with pytest.raises(ValueError, match=rf"the part of '{key}' must be a \.safetensors or \.bin file, got "):
            from_pretrained(tmp_path)
    for value in ("../a.safetensors", "/a.safetensors", "sub/a.safetensors", "none.safetensors"):
        change(index, weight_map={**whole, key: value})
        with pytest.raises(ValueError, match=rf"the part '{value}' of the weights, .* is missing"):
            from_pretrained(tmp_path)
    for value in ({}, [], "x", 3):
        change(index, weight_map=value)
        with pytest.raises(ValueError, match="lists no parts"):
            from_pretrained(tmp_path)
    twice = sorted(set(whole.values()))[0]
    (tmp_path / "twice.safetensors").write_bytes((tmp_path / twice).read_bytes())
    change(index, weight_map={**whole, "again": "twice.safetensors"})
    with pytest.raises(ValueError, match=r"index\.json: key '.*' is in two of the parts, 'twice\.safetensors'"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize("number", [-1, True, 2.5, "3", 10**9])
def test_a_number_of_classes_that_is_none(number, tmp_path):
    with pytest.raises(ValueError, match=r"^num_classes must be "):
        from_pretrained(tmp_path, num_classes=number)
