"""Logit lens, value-weighted maps and direct attribution: as computed by hand, and parts that add up to the logit."""

import copy
from dataclasses import replace
from functools import partial

import by_hand
import published
import pytest
import timm
import torch
import transformers
from by_hand import HEADS, LIBRARIES, OURS, VIT_PYTORCH, WIDTH
from published import shaken
from test_recording import hooks

from vit_course.maps import (
    head_attribution,
    intervene,
    logit_lens,
    record_attention,
    reweighted,
    run_with_cache,
    value_weighted,
    without_head,
)
from vit_course.vit import ViT

ALL = LIBRARIES | {"vit-pytorch": VIT_PYTORCH}
TIMM = dict(img_size=(16, 24), patch_size=8, depth=2, embed_dim=24, num_heads=2, num_classes=5)
DINO = dict(image_size=21, patch_size=7, num_hidden_layers=2, num_attention_heads=3, hidden_size=36, num_labels=5)
close = partial(torch.testing.assert_close, rtol=1e-9, atol=1e-10)
READ = {  # the last norm and the head of each library
    "ours": lambda model, x: model.head(model.encoder.norm(x)[:, 0]),
    "timm": lambda model, x: model.head(model.norm(x)[:, 0]),
    "torchvision": lambda model, x: model.heads(model.encoder.ln(x)[:, 0]),
    "huggingface": lambda model, x: model.classifier(model.vit.layernorm(x)[:, 0]),
    "vit-pytorch": lambda model, x: model.mlp_head(model.transformer.norm(x)[:, 0]),
}


def double(name):
    return ALL[name].model().double(), ALL[name].images().double()


def tolerance(name):
    return dict(rtol=1e-5, atol=1e-6) if name == "huggingface eager" else {}  # its softmax is in float32


@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_the_logit_lens_reads_with_the_norm_and_the_head(name):
    model, images = double(name)
    _, cache = run_with_cache(model, images, ["embeddings", "blocks.?"])
    found = logit_lens(model, images)
    close(found, torch.stack([READ[name.split()[0]](model, x) for x in cache.values()], dim=1))
    close(found[:, -1], published.logits(model, images))
    close(found[1:], logit_lens(model, images[1:]))
    assert hooks(model) == 0


@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_the_length_of_what_each_token_adds(name):
    library = ALL[name]
    model, images = double(name)
    with record_attention(model) as maps:
        model(images)
    found = value_weighted(model, images)
    assert found.shape == maps.stacked().shape
    for layer in range(3):
        own = library.block(model, layer).get_submodule(library.attention)
        _, _, v = by_hand.projected(library, own, by_hand.came_in(library, model, layer, library.attention, images))
        projection = own.get_submodule(library.projection).weight.unflatten(1, (HEADS, WIDTH))  # (D, h, d)
        each = torch.einsum("bhij,bhjd,ehd->bhije", maps.stacked()[:, layer].to(v), v, projection)
        close(found[:, layer], each.norm(dim=-1), **tolerance(name))
    assert hooks(model) == 0


@torch.no_grad()
def test_with_what_scales_the_projection():
    model, images = (
        shaken(timm.create_model("vit_small_patch14_dinov2", **TIMM)).double(),
        torch.randn(2, 3, 16, 24).double(),
    )
    found, plain = value_weighted(model, images), copy.deepcopy(model)
    for block in plain.blocks:
        block.attn.proj.weight *= block.ls1.gamma[:, None]
        block.attn.proj.bias *= block.ls1.gamma
        block.ls1 = torch.nn.Identity()
    close(value_weighted(plain, images), found)
    assert found.shape == (2, 2, 2, 7, 7) and found.std() > 1e-3


@torch.no_grad()
def test_of_a_model_that_is_changed():
    model, images = double("timm")
    with intervene(model, [reweighted(1, 2), without_head(0, 1, "zero")]):
        found, parts = value_weighted, head_attribution(model, images, torch.tensor([1, 2]))
        logits = model(images)
    close(parts.total(), logits[[0, 1], [1, 2]])
    assert parts.heads[:, 0, 1].abs().max() == 0 and parts.heads[:, 0, 0].abs().min() > 0
    with intervene(model, [reweighted(1, 2)]):
        found = value_weighted(model, images)
    assert (found[:, 1, 2] / found[:, 1, 2, :1]).std(dim=1).max() < 1e-9, "every row is the mean row"


def distilled():
    return timm.models.deit.VisionTransformerDistilled(**TIMM)


OTHERS = {
    "timm, mean before the norm": lambda: timm.models.VisionTransformer(**TIMM, global_pool="avg"),
    "timm, LayerScale and registers": lambda: timm.create_model("vit_small_patch14_reg4_dinov2", **TIMM),
    "timm, two heads": distilled,
    "timm, SwiGLU and a norm in the MLP": lambda: timm.create_model("eva02_base_patch14_448", **TIMM),
    "timm, norm before": lambda: timm.create_model("vit_base_patch16_clip_224", **TIMM),
    "Dinov2": lambda: transformers.Dinov2ForImageClassification(transformers.Dinov2Config(**DINO)),
    "ours, mean": lambda: ViT(replace(by_hand.CONFIG, pool="mean", num_registers=2)),
}


def size_of(name):
    return (16, 24) if name.startswith("timm") else (21, 21) if name == "Dinov2" else (14, 21)


@pytest.mark.parametrize("name", [*ALL, *OTHERS])
def test_the_parts_add_up_to_the_logit(name):
    if name in ALL:
        model, images = double(name)
    else:
        model, images = shaken(OTHERS[name]()).double(), torch.randn(2, 3, *size_of(name)).double()
    classes = torch.tensor([4, 1])
    with torch.no_grad():
        expected = published.logits(model, images)[[0, 1], classes]
    for context in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with context():
            parts = head_attribution(model, images, classes)
        close(parts.total().clone(), expected, **tolerance(name))
    layers = len(parts.mlps[0])
    assert parts.heads.shape[:2] == parts.attention_bias.shape == parts.mlps.shape == (2, layers)
    assert parts.embeddings.shape == parts.bias.shape == (2,) and not parts.heads.requires_grad
    assert parts.heads.abs().min() > 0 and hooks(model) == 0


@pytest.mark.parametrize("name", ALL)
@torch.no_grad()
def test_each_part_by_hand(name):
    library = ALL[name]
    model, images = double(name)
    parts = head_attribution(model, images, torch.tensor([3, 3]))
    _, cache = run_with_cache(model, images)
    x = cache["blocks.2"][:, 0]  # (B, D), the class token
    norm = {"ours": "encoder.norm", "timm": "norm", "torchvision": "encoder.ln", "huggingface": "vit.layernorm"}
    norm = model.get_submodule(norm.get(name.split()[0], "transformer.norm"))
    head = [module for module in model.modules() if isinstance(module, torch.nn.Linear)][-1]
    reading = norm.weight * head.weight[3] / (x.var(dim=1, correction=0, keepdim=True) + norm.eps).sqrt()  # (B, D)

    def read(part):  # (B, D) -> (B,)
        return ((part - part.mean(dim=1, keepdim=True)) * reading).sum(dim=1)

    same = partial(close, **tolerance(name))
    same(parts.embeddings, read(cache["embeddings"][:, 0]))
    same(parts.bias, (norm.bias @ head.weight[3] + head.bias[3]).expand(2))
    for layer in range(3):
        same(parts.mlps[:, layer], read(cache[f"blocks.{layer}.mlp"][:, 0]))
        projection = library.block(model, layer).get_submodule(library.attention).get_submodule(library.projection)
        same(parts.attention_bias[:, layer], read(projection.bias.expand(2, -1)))
        for index in range(3):
            weight = projection.weight[:, index * WIDTH : (index + 1) * WIDTH]
            same(parts.heads[:, layer, index], read(cache[f"blocks.{layer}.heads"][:, index, 0] @ weight.T))


def test_what_is_refused():
    model, images, classes = OURS.model(), OURS.images(), torch.tensor([0, 1])
    of_timm = torch.randn(2, 3, 16, 24)
    relative = shaken(timm.create_model("vit_relpos_small_patch16_rpn_224", **TIMM))
    siglip = shaken(timm.models.VisionTransformer(**TIMM, global_pool="map", class_token=False))
    tanh = shaken(ViT(replace(by_hand.CONFIG, representation_size=9)))
    not_a_sum = "the attention of layer 0 is not the sum of what its heads"
    not_linear = "the logit is not a linear function of the tokens after the last"
    training = r"in training mode, .*call model.eval\(\) first"
    for call, message in (
        (lambda: value_weighted(relative, of_timm), f"{not_a_sum} read from each token"),
        (lambda: head_attribution(relative, of_timm, classes), f"{not_a_sum} add"),
        (lambda: head_attribution(siglip, of_timm, classes), not_linear),
        (lambda: head_attribution(tanh, images, classes), not_linear),
        (lambda: head_attribution(model, images, classes + 4), "classes must be from 0 to 4, got 4 to 5"),
        (lambda: head_attribution(model, images, classes[:1]), "there are 2 images but 1 classes"),
        (lambda: value_weighted(model.train(), images), training),
        (lambda: head_attribution(model.train(), images, classes), training),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    headless = ViT(replace(by_hand.CONFIG, num_classes=0)).eval()
    for call in (lambda: logit_lens(headless, images), lambda: head_attribution(headless, images, classes)):
        with pytest.raises(ValueError, match="the model must give logits"):
            call()
    assert hooks(model) == hooks(siglip) == hooks(headless) == 0
