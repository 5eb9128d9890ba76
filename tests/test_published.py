"""Published models by name: what the libraries keep or save on this machine, and what cannot be loaded."""

import shutil
from pathlib import Path

import huggingface_hub
import pytest
import timm
import torch
import transformers
from PIL import Image
from published import old_huggingface_names, old_torchvision_names, shaken
from safetensors.torch import load_file, save_file
from saved import HOPPER, NAMES, TINY, Payload, change, huggingface, same, timm_folder
from torchvision import models

from vit_course import pretrained
from vit_course.__main__ import main
from vit_course.pretrained import Preprocessing, load_run

HF_NAME, TIMM_NAME = "hf:someone/small-vit", "timm:hf-hub:someone/small-vit"


@pytest.fixture
def hub_cache(monkeypatch, tmp_path):
    """A function: puts a saved folder into an empty cache of the hub, under someone/small-vit; there is no network."""
    constants, cache = huggingface_hub.constants, tmp_path / "cache"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    def keep(folder: Path) -> None:
        place, commit = cache / "models--someone--small-vit", "0123456789" * 4
        shutil.copytree(folder, place / "snapshots" / commit)
        (place / "refs").mkdir()
        (place / "refs" / "main").write_text(commit)

    return keep


def test_names_of_hugging_face_and_of_timm_out_of_the_hubs_cache(hub_cache, tmp_path):
    theirs, images = huggingface(tmp_path / "made", shards="5KB"), torch.randn(2, 3, 24, 24)  # in several parts
    hub_cache(tmp_path / "made")
    same(load_run(HF_NAME).model(images), theirs(images).logits)
    same(pretrained.load(HF_NAME)(images), theirs(images).logits)
    shutil.rmtree(tmp_path / "cache")
    theirs, images = timm_folder(tmp_path / "timm"), torch.randn(2, 3, 32, 32)
    hub_cache(tmp_path / "timm")
    same(load_run(TIMM_NAME).model(images), theirs(images))


def test_a_name_of_timms_own(monkeypatch):
    theirs = shaken(timm.create_model("vit_tiny_patch16_224"))
    monkeypatch.setattr(timm.models._builder, "load_state_dict_from_hf", lambda *_, **__: dict(theirs.state_dict()))
    model, preprocess, class_names = load_run("timm:vit_tiny_patch16_224.augreg_in21k_ft_in1k")
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(theirs))
    images = preprocess(HOPPER)
    same(images, transform(Image.open(HOPPER))[None])
    same(model(images), theirs(images))
    assert len(class_names) == 1000 and class_names[0].startswith("tench")
    assert class_names[652].startswith("military uniform")


@pytest.fixture
def small_torchvision(monkeypatch, tmp_path):
    """A function: vit_b_16 is a small model, kept with the names of the old files under an entry's name; -> the model.

    The file goes into torch.hub's folder for this test.
    """
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    sizes = dict(patch_size=56, num_layers=2, num_heads=3, hidden_dim=36, mlp_dim=16)
    monkeypatch.setattr(models, "get_model", lambda name, **given: models.VisionTransformer(**sizes, **given))

    def keep(entry: models.ViT_B_16_Weights, state: dict | None = None) -> torch.nn.Module:
        with torch.device("cpu"):
            model = shaken(models.VisionTransformer(image_size=entry.meta["min_size"][0], **sizes))
        place = tmp_path / "checkpoints" / Path(entry.url).name
        place.parent.mkdir(exist_ok=True)
        torch.save(state or old_torchvision_names(model.state_dict()), place)
        model.load_state_dict(torch.load(place)) if state is None else None
        return model

    return keep


@pytest.mark.parametrize("variant", ["", ".IMAGENET1K_SWAG_LINEAR_V1"])
def test_names_of_torchvision_out_of_the_cache(variant, small_torchvision):
    entry = models.ViT_B_16_Weights[variant[1:] or "DEFAULT"]
    theirs = small_torchvision(entry)
    model, preprocess, class_names = load_run(f"torchvision:vit_b_16{variant}")
    images = preprocess(HOPPER)
    same(images, entry.transforms()(Image.open(HOPPER))[None])
    same(model(images), theirs(images))
    assert class_names == entry.meta["categories"] and class_names[652] == "military uniform"


def test_weights_that_would_run_code_are_refused(small_torchvision, tmp_path):
    trace = tmp_path / "it ran"
    small_torchvision(models.ViT_B_16_Weights.DEFAULT, {"conv_proj.weight": Payload(trace)})
    timm_folder(tmp_path / "timm", safe=False)
    torch.save({"cls_token": Payload(trace)}, tmp_path / "timm" / "pytorch_model.bin")
    huggingface(tmp_path / "hf")
    (tmp_path / "hf" / "model.safetensors").unlink()
    torch.save({"vit.embeddings.cls_token": Payload(trace)}, tmp_path / "hf" / "pytorch_model.bin")
    for name in ("torchvision:vit_b_16", tmp_path / "timm", tmp_path / "hf"):
        with pytest.raises(ValueError, match="cannot load it: "):
            load_run(name)
    assert not trace.exists()


# ---- folders that the libraries save


def test_the_old_files_of_hugging_face(tmp_path):
    # The published ones: names of version 4 in the weights, a bare size, no entry for what is usual.
    theirs = huggingface(tmp_path)
    state = old_huggingface_names(load_file(tmp_path / "model.safetensors"))
    save_file(state, tmp_path / "model.safetensors", {"format": "pt"})
    change(tmp_path / "config.json", num_channels=None, qkv_bias=None, dtype=None, pooler_act=None)
    change(tmp_path / "preprocessor_config.json", size=24, resample=None, image_processor_type=None)
    images = torch.randn(2, 3, 24, 24)
    same(load_run(tmp_path).model(images), theirs(images).logits)


def test_what_hugging_faces_weights_lack_is_left_out_and_not_drawn_at_random(tmp_path):
    theirs = huggingface(tmp_path, transformers.ViTModel)
    state = load_file(tmp_path / "model.safetensors")
    save_file({key: value for key, value in state.items() if "pooler" not in key}, tmp_path / "model.safetensors")
    images, model = torch.randn(2, 3, 24, 24), load_run(tmp_path).model  # as the weights of DINO come
    same(model.features(images), theirs(images).last_hidden_state)
    assert model.config.representation_size == 0


def test_class_names_of_timm(tmp_path):
    timm_folder(tmp_path, model_config={"label_names": NAMES}, safe=False)
    assert load_run(tmp_path).class_names == NAMES
    change(tmp_path / "config.json", label_descriptions={"ring": "a ring, a circle with a hole"})
    assert load_run(tmp_path).class_names == [*NAMES[:4], "a ring, a circle with a hole"]
    timm_folder(tmp_path, num_classes=7)
    assert load_run(tmp_path).class_names[6] == "class 6"
    timm_folder(tmp_path, num_classes=0)  # as the weights of MAE and DINO come
    assert load_run(tmp_path).class_names == []


def test_the_top_classes(tmp_path):
    theirs = huggingface(tmp_path)
    published = load_run(tmp_path)
    best = published.top(HOPPER, count=3)
    probabilities = theirs(published.preprocess(HOPPER)).logits.softmax(dim=1)[0]
    order = probabilities.argsort(descending=True)[:3].tolist()
    assert [name for name, _ in best] == [NAMES[i] for i in order]
    assert [p for _, p in best] == pytest.approx(probabilities[order].tolist(), abs=1e-5)
    assert len(published.top(Image.open(HOPPER), count=99)) == 5
    assert repr(published).startswith("Pretrained(ViTConfig(") and "5 class names" in repr(published)
    published.model.double()
    assert published.top(HOPPER)[0][0] == best[0][0]


def test_another_size(tmp_path):
    huggingface(tmp_path)
    model, preprocess, _ = load_run(tmp_path, image_size=48)
    images = preprocess(HOPPER)
    assert images.shape == (1, 3, 48, 48)
    assert torch.equal(model(images), pretrained.resize(pretrained.load(tmp_path), 48)(images))


# ---- what cannot be loaded

OTHERS = {
    "Hugging Face's models only ViTForImageClassification, .* and related classes can be loaded; record_attention": [
        transformers.SwinConfig(architectures=["SwinForImageClassification"]),
        transformers.ResNetConfig(architectures=["ResNetModel"]),
        transformers.BeitConfig(architectures=["BeitModel"]),
        transformers.BertConfig(),
    ],
    "this kind only Dinov2ForImageClassification and Dinov2Model can": [
        transformers.Dinov2Config(architectures=["Dinov2Backbone"])
    ],
    "this kind only CLIPModel can": [transformers.CLIPConfig(architectures=["CLIPForImageClassification"])],
    "this kind only ViTForImageClassification and ViTModel can": [
        transformers.ViTConfig(architectures=["ViTForMaskedImageModeling"])
    ],
}


@pytest.mark.parametrize("words", OTHERS)
def test_other_kinds_of_hugging_face_are_refused_before_their_weights_are_looked_for(words, tmp_path):
    for config in OTHERS[words]:
        config.save_pretrained(tmp_path)
        kind = (config.architectures or ["model of an unnamed class"])[0]
        with pytest.raises(ValueError, match=f"{tmp_path.name}: this is a {kind}, but of {words}"):
            load_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "nothing",
            "no checkpoint 'nothing'; .*one is named with its library: timm:NAME, hf:NAME or torchvision:NAME$",
        ),
        ("timm:", "'timm:' is neither a published name"),
        ("timm:vit_odd_patch16_224", r"timm cannot load it: Unknown model \(vit_odd.*\.list_models\(pretrained=True\)"),
        ("timm:vit_tiny_patch16_224.odd", r"timm cannot load it: Invalid pretrained tag \(odd\)"),
        ("timm:resnet18", "this is a ResNet, but of timm's models only VisionTransformer .* can be loaded"),
        ("timm:swin_tiny_patch4_window7_224", "this is a SwinTransformer, .* record_attention and explore take"),
        ("hf:nobody/no thing", "Hugging Face cannot load it: Repo id must .*huggingface.co/models"),
        ("hf:nobody/nothing", "Hugging Face cannot load it: .*the first time needs a network"),
        ("timm:hf-hub:nobody/nothing", "timm cannot load it: .*the first time needs a network"),
        ("torchvision:resnet18", "this is not a plain Vision Transformer; torchvision's are vit_b_16"),
        ("torchvision:vit_odd", "torchvision cannot load it: Unknown model vit_odd"),
        ("torchvision:vit_b_16.OLD", "vit_b_16 has no weights 'OLD', only IMAGENET1K_V1, IMAGENET1K_SWAG_E2E_V1"),
    ],
)
def test_names_that_cannot_be_loaded(name, message, hub_cache):
    for load in (pretrained.load, load_run):
        with pytest.raises(ValueError, match=message) as caught:
            load(name)
        assert "\n" not in str(caught.value)


def test_without_a_network(monkeypatch, hub_cache, capsys):
    def unreachable(*_, **__):
        raise OSError("nobody answers\nfor long")

    monkeypatch.setattr(torch.hub, "get_dir", lambda: "/nowhere")
    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", unreachable)
    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", unreachable)
    command = ["classify", HOPPER, "--weights"]
    for name in ("torchvision:vit_b_16", "timm:vit_tiny_patch16_224", HF_NAME):
        assert main([*command, name]) == 2
        error = capsys.readouterr().err.splitlines()
        assert error[-1].startswith(f"error: {name}: ") and "the first time needs a network; " in error[-1], error
    assert main(["explore", HOPPER, "--weights", "vit_b_16"]) == 2
    assert "named with its library: timm:NAME" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("save", "values", "message"),
    [
        (huggingface, {"num_hidden_layers": 3}, r"weights lack 'vit\..*2.*', which a ViTForImageClass"),
        (huggingface, {"num_hidden_layers": 1}, r"the weights have 'vit\..*1.*', which a ViTForImageClass"),
        (huggingface, {"image_size": [32, 24]}, r"of shape \(1, 10, 36\), but .* config.json needs \(1, 13, 36\)"),
        (huggingface, {"num_attention_heads": 5}, r"of shape \(36,\), but a .*\(35,\)"),
        (huggingface, {"hidden_act": "relu"}, "the activation is 'relu', but our ViT has only a GELU"),
        (huggingface, {"id2label": {"0": "one"}}, r"'classifier.bias' of shape \(5,\), but .* needs \(1,\)"),
        (timm_folder, {"global_pool": "max", "model_args": {**TINY, "global_pool": "max"}}, "global_pool is 'max'"),
        (timm_folder, {"model_args": {**TINY, "depth": 3}}, "timm cannot load it: .*blocks.2"),
        (timm_folder, {"model_args": {**TINY, "depth": 1}}, "timm cannot load it: .*blocks.1"),
        (timm_folder, {"model_args": {**TINY, "qk_norm": True}}, "timm cannot load it: .*q_norm"),
        (timm_folder, {"model_args": {**TINY, "act_layer": "silu"}}, "the activation is 'SiLU'"),
    ],
)
def test_a_config_that_does_not_fit_the_weights(save, values, message, tmp_path):
    save(tmp_path)
    change(tmp_path / "config.json", **values)
    with pytest.raises(ValueError, match=f"{tmp_path.name}: .*{message}") as caught:
        load_run(tmp_path)
    assert "\n" not in str(caught.value)


def test_files_that_are_missing_or_damaged(tmp_path):
    for save, whose in ((huggingface, "Hugging Face"), (timm_folder, "timm")):
        save(tmp_path)
        weights = tmp_path / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-99])
        with pytest.raises(ValueError, match=f"{whose} cannot load it: "):
            load_run(tmp_path)
        weights.unlink()
        with pytest.raises(ValueError, match=f"{whose} cannot load it: "):
            load_run(tmp_path)
    huggingface(tmp_path)
    (tmp_path / "preprocessor_config.json").unlink()
    with pytest.raises(ValueError, match=r"Hugging Face cannot load preprocessor_config\.json, which"):
        load_run(tmp_path)
    for text, message in (("{", "is not valid JSON"), ("[1]", "must hold an object in curly brackets, got list")):
        (tmp_path / "config.json").write_text(text)
        with pytest.raises(ValueError, match=rf"config\.json {message}"):
            load_run(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=r"is a folder without best\.safetensors, .* config\.json of timm or transf"):
        load_run(tmp_path)


STEPS = [
    {"do_normalize": False},
    {"do_rescale": False},
    {"do_resize": False},
    {"rescale_factor": 1 / 127.5},
    {"do_convert_rgb": True, "do_pad": True, "pad_size": {"height": 30, "width": 30}},
]


@pytest.mark.parametrize("step", STEPS)
def test_a_preprocessing_of_other_steps_is_refused(step, tmp_path):
    huggingface(tmp_path)
    assert load_run(tmp_path).preprocess == Preprocessing((24, 24), None, "bilinear", (0.5,) * 3, (0.5,) * 3, True)
    change(tmp_path / "preprocessor_config.json", **step)
    with pytest.raises(ValueError, match="its preprocessing does more than resize a picture, crop it at the centre"):
        load_run(tmp_path)
