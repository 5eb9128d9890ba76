"""What the modules of a model say of it, and one pass that goes on from what its blocks gave."""

import pytest
import timm
import torch
import torchvision
import transformers
from architectures import ROWS
from published import shaken
from torch import nn

from vit_course.maps.anatomy import Anatomy
from vit_course.maps.forward_pass import ForwardPass
from vit_course.vit import ViT, ViTConfig

SIZES = dict(patch_size=4, num_classes=7, hidden_dim=12, num_layers=3, num_heads=2, mlp_dim=20)
HF = dict(patch_size=4, num_hidden_layers=3, num_attention_heads=2, hidden_size=12, intermediate_size=20)
HF |= dict(image_size=[8, 16])


def huggingface(**more):
    return transformers.ViTForImageClassification(transformers.ViTConfig(**HF, **more))


def timms(**more):
    sizes = dict(img_size=(8, 16), patch_size=4, depth=3, num_heads=2, embed_dim=12, num_classes=7)
    return timm.models.VisionTransformer(**sizes, **more)


MODELS = {
    "ours": (lambda: ViT(ViTConfig(image_size=(8, 16), **SIZES, num_registers=1)), "encoder.blocks.2"),
    "timm": (lambda: timms(reg_tokens=1), "blocks.2"),
    "Hugging Face": (lambda: huggingface(), "vit.layers.2"),
    "torchvision": (
        lambda: torchvision.models.VisionTransformer(8, 4, 3, 2, 12, 20, num_classes=7),
        "encoder.layers.encoder_layer_2",
    ),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "wrap", [lambda model: model, nn.DataParallel, torch.compile], ids=["", "parallel", "compiled"]
)
def test_each_library_says_what_its_model_is_made_of(name, wrap):
    make, last = MODELS[name]
    anatomy = Anatomy(wrap(make()))
    start = {nn.DataParallel: "module.", torch.compile: "_orig_mod."}.get(wrap, "")
    assert len(anatomy.blocks) == len(anatomy.attention) == 3 and list(anatomy.blocks)[-1] == start + last
    assert anatomy.image_size == ((8, 8) if name == "torchvision" else (8, 16)) and anatomy.channels == 3
    assert anatomy.grid((8, 16)) == (2, 4)
    register = ("register 1",) if name in ("ours", "timm") else ()
    assert anatomy.prefix == ("class token", *register)


@pytest.mark.parametrize(("name", "size"), [("timm Twins", (64, 64)), ("timm EfficientFormer", None)])
def test_a_model_of_stages_takes_the_images_of_its_first(name, size):
    anatomy = Anatomy(nn.DataParallel(ROWS[name].make()))
    assert anatomy.image_size == size and anatomy.channels == 3 and anatomy.inside == "module"


@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_a_pass_goes_on_from_what_the_blocks_gave(name):
    model = shaken(MODELS[name][0]()).eval()
    one, other = torch.randn(2, 1, 3, 8, 8 if name == "torchvision" else 16)
    seen = ForwardPass(Anatomy(model))
    with seen.listening():
        answer = model(one)
    logits = getattr(answer, "logits", answer)
    assert [tuple(tokens.shape) for tokens in seen.tokens()] == [tuple(seen.features.shape)] * 4
    # After all its blocks, or after one, the model no longer knows which picture it saw.
    for skipped in (1, 3):
        again = seen.continued(other, seen.outputs[:skipped])
        torch.testing.assert_close(getattr(again, "logits", again), logits)
    assert not any(module._forward_hooks or "forward" in vars(module) for module in model.modules())


def test_a_model_of_one_layer_in_a_list_is_no_layer():
    model = nn.Sequential(nn.Identity(), timm.create_model("vit_tiny_patch16_224", img_size=32, depth=1))
    assert list(Anatomy(model).blocks) == ["1.blocks.0"]
