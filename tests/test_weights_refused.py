"""Weights that no loader takes as they are: with adapters, adapters alone, in a wrapper, in a file of another kind."""

import json

import pytest
import saved
import torch
import torchvision
import transformers
from safetensors.torch import save_file
from torch import nn
from wrappers import Around, PeftModel, huggingface, timm_vit

from vit_course import pretrained
from vit_course.commands.program import main

LOADERS = [pretrained.load_timm, pretrained.load_huggingface, pretrained.load_torchvision]


@pytest.mark.parametrize("load", LOADERS, ids=lambda load: load.__name__)
@pytest.mark.parametrize("make", [timm_vit, huggingface], ids=["timm", "Hugging Face"])
def test_adapters_have_to_be_merged_first(load, make):
    plain = make()
    model = PeftModel(make())
    state = model.state_dict()
    of_layer = (
        r"^key '[\w.]+\.base_layer\.weight' belongs to a layer with a LoRA adapter: merge the adapters first; with"
    )
    for weights in (model, state, nn.DataParallel(model)):
        with pytest.raises(ValueError, match=of_layer + r" PEFT, model\.merge_and_unload\(\) gives the model to load$"):
            load(weights, 2)
    with pytest.raises(
        ValueError, match=r"^all weights, such as '[\w.]+lora_A[\w.]+', are those of LoRA adapters, with"
    ):
        load({key: value for key, value in state.items() if "lora_" in key}, 2)
    if load is pretrained.load_timm and make is timm_vit:
        load(plain)  # what merge_and_unload gives


WRAPPED = {
    "module": (pretrained.load_timm, lambda: nn.DataParallel(timm_vit())),
    "_orig_mod": (pretrained.load_timm, lambda: torch.compile(timm_vit())),
    "net.net": (pretrained.load_huggingface, lambda: Around(Around(huggingface().vit))),
    "net": (pretrained.load_torchvision, lambda: Around(torchvision.models.VisionTransformer(16, 4, 2, 2, 12, 20))),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_of_a_wrapped_model_the_one_inside_is_asked_for(name):
    load, make = WRAPPED[name]
    model = make()
    with pytest.raises(
        ValueError, match=rf"^this is a {type(model).__name__} around a model: give the model itself, model\.{name}$"
    ):
        load(model)
    load(model.get_submodule(name))


def said(capsys, arguments, weights):
    """What the command answers to these weights."""
    assert main([*map(str, arguments), "--weights", str(weights)]) == 2
    return capsys.readouterr().err


@pytest.fixture(params=["classify", "explore", "train"])
def command(request, tmp_path):
    if request.param == "train":
        return ["train", "--data", "shapes", "--out", tmp_path / "run"]
    return [request.param, saved.HOPPER]


def test_a_folder_of_an_adapter_is_named(tmp_path, command, capsys):
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "google/vit", "r": 8}))
    adapter = {key: value for key, value in PeftModel(timm_vit()).state_dict().items() if "lora_" in key}
    save_file(adapter, folder / "adapter_model.safetensors")
    words = f"{folder} holds an adapter without the model that it changes, 'google/vit': add it to that model and merge"
    for weights in (folder, f"hf:{folder}"):
        assert words in (answer := said(capsys, command, weights)) and ".merge_and_unload()" in answer
    assert "are those of LoRA adapters, without the model" in said(
        capsys, command, folder / "adapter_model.safetensors"
    )
    transformers.ViTConfig().save_pretrained(folder)  # the model's config does not make it the model
    assert words in said(capsys, command, folder)


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".ckpt", ".bin"])
def test_a_file_of_another_kind_is_not_opened(suffix, tmp_path, command, capsys):
    file = (tmp_path / "model").with_suffix(suffix)
    torch.save(timm_vit().state_dict(), file)
    answer = said(capsys, command, file)
    words = (
        "is not a safetensors file, and files of other kinds are not opened because they may run code: give the folder"
    )
    assert f"{file} {words}" in answer
    assert "save_pretrained(folder)" in answer and "timm.models.save_for_hf(model, folder)" in answer
    assert f"there is no checkpoint '{tmp_path}/none{suffix}'" in said(capsys, command, tmp_path / f"none{suffix}")


def test_a_file_of_weights_alone_is_asked_for_with_its_config(tmp_path, capsys):
    save_file(timm_vit().state_dict(), tmp_path / "weights.safetensors")
    answer = said(capsys, ["classify", saved.HOPPER], tmp_path / "weights.safetensors")
    assert (
        "it holds no ViTConfig, so it is not a checkpoint of a vit_course ViT (its names are those of timm)" in answer
    )
    assert (
        "give the folder of a run or its best.safetensors, or a folder with a config.json, saved by timm or" in answer
    )
    folder = tmp_path / "saved"
    saved.huggingface(folder)
    answer = said(capsys, ["classify", saved.HOPPER], folder / "model.safetensors")
    assert f"its config.json is in the same folder: give the folder, {folder}" in answer
    assert main(["classify", saved.HOPPER, "--weights", str(folder)]) == 0
