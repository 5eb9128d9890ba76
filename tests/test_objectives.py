"""Training without labels: the two objectives against their papers, and their runs."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import runs
import torch
from runs import RECIPE, cut_after, files, new_model, same
from torch import nn
from transformers import ViTMAEConfig, ViTMAEForPreTraining

from vit_course import pretrained
from vit_course.config import ViTConfig
from vit_course.training import MaskedAutoencoder, SelfDistillation, TrainingConfig, load_objective, loop, train
from vit_course.training.evaluation import measured
from vit_course.training.masked import random_masking
from vit_course.training.processes import Alone
from vit_course.training.self_distilled import changed, crop, pooled, views
from vit_course.vit import ViT

ALONE = Alone(torch.device("cpu"))
CUTS = [{}, {"pool": "mean"}, {"num_registers": 2}, {"pool": "mean", "num_registers": 2}, {"position": "none"}]
CROPS = [(2, {}), (0, {}), (1, {"pool": "mean", "num_registers": 1}), (3, CUTS[-1])]


def masked(mask_ratio=0.5, **changes) -> MaskedAutoencoder:
    return MaskedAutoencoder(new_model(num_classes=0, **changes), mask_ratio, decoder_dim=32, decoder_layers=1)


def distilled(local_crops=2, outputs=7, centring=0.8, **changes) -> SelfDistillation:
    options = dict(temperature=0.3, teacher_temperature=0.2, momentum=0.9)
    vit = new_model(num_classes=0, **changes)
    return SelfDistillation(vit, outputs, centring=centring, local_crops=local_crops, **options)


def shaken(module: nn.Module) -> nn.Module:
    """No weight is zero or one, and none equals another: a teacher is then no copy of its student."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return module


# ---- masked

OURS = {
    "vit.embeddings.cls_token": "model.class_token.token", "vit.embeddings.patch_embeddings.": "model.patch_embedding.",
    "vit.embeddings.position_embeddings": "model.positions.table", "vit.layers.": "model.encoder.blocks.",
    "vit.layernorm.": "model.encoder.norm.", "decoder.decoder_embed.": "narrow.", "decoder.mask_token": "mask_token",
    "decoder.decoder_layers.": "decoder.blocks.", "decoder.decoder_norm.": "decoder.norm.",
    "decoder.decoder_pred.": "to_pixels.", ".layernorm_before.": ".norm1.", ".layernorm_after.": ".norm2.",
    ".o_proj.": ".projection.", ".fc1.": ".expand.", ".fc2.": ".contract.",
}  # fmt: skip


def renamed(state: dict) -> dict:
    """Hugging Face's weights by our names; queries, keys and values are one matrix here."""
    found = {}
    for key, value in state.items():
        for theirs, ours in OURS.items():
            key = key.replace(theirs, ours)
        found[key] = value
    for key in [key for key in found if ".q_proj." in key]:
        parts = [found.pop(key.replace("q_proj", part)) for part in ("q_proj", "k_proj", "v_proj")]
        found[key.replace("q_proj", "qkv")] = torch.cat(parts)
    return found


# Ratios of 36 patches for which both hide the same number: Hugging Face cuts where the course rounds.
@pytest.mark.parametrize("ratio", [0.25, 0.3, 0.5, 0.75])
@pytest.mark.parametrize("normalised", [True, False])
@torch.no_grad()
def test_the_masked_autoencoder_is_that_of_hugging_face(ratio, normalised):
    sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48, image_size=24)
    decoder = dict(decoder_hidden_size=64, decoder_num_hidden_layers=2, decoder_num_attention_heads=2)
    more = dict(decoder_intermediate_size=256, patch_size=4, layer_norm_eps=1e-6, mask_ratio=ratio)
    theirs = ViTMAEForPreTraining(ViTMAEConfig(**sizes, **decoder, **more, norm_pix_loss=normalised))
    theirs = shaken(theirs).double().eval()
    theirs.decoder.decoder_pos_embed[:, 0] = 0  # ours gives the class token no position in the decoder
    ours = MaskedAutoencoder(ViT(ViTConfig(24, 4, 0, 32, 2, 2, 48)), ratio, normalise_patches=normalised).double()
    state = renamed(theirs.state_dict())
    ours.positions.table.copy_(state.pop("decoder.decoder_pos_embed")[:, 1:])
    ours.load_state_dict(state)
    images, noise = torch.randn(3, 3, 24, 24).double(), ours.draws(3, torch.Generator().manual_seed(1))
    wanted = theirs(images, noise=noise)
    visible, restore = random_masking(noise, ours.num_visible)
    assert torch.equal(restore, wanted.ids_restore) and torch.equal(restore >= ours.num_visible, wanted.mask == 1)
    torch.testing.assert_close(ours.decode(ours.encode(images, visible), restore), wanted.logits, rtol=0, atol=1e-11)
    loss, measures = ours(images, None, noise, 3)
    assert loss.item() == pytest.approx(wanted.loss.item(), abs=1e-10) and measures == {}


@pytest.mark.parametrize("normalised", [True, False])
def test_hidden_patches_alone_count(normalised, monkeypatch):
    objective = MaskedAutoencoder(new_model(num_classes=0), 0.5, normalise_patches=normalised)
    images, predicted = torch.randn(2, 3, 12, 8) * 3 + 1, torch.randn(2, 6, 48, requires_grad=True)
    noise, total = torch.rand(2, 6), []
    hidden = noise >= noise.sort(dim=1).values[:, 3:4]
    monkeypatch.setattr(objective, "decode", lambda z, restore: predicted)
    loss, _ = objective(images, None, noise, 2)
    for image, place in hidden.nonzero().tolist():
        top, left = 4 * (place // 2), 4 * (place % 2)
        patch = images[image, :, top : top + 4, left : left + 4].permute(1, 2, 0).flatten().numpy()
        if normalised:
            patch = (patch - patch.mean()) / np.sqrt(patch.var(ddof=1) + 1e-6)
        total.append(np.mean((predicted[image, place].detach().numpy() - patch) ** 2))
    assert loss.item() == pytest.approx(np.mean(total), rel=1e-5) and len(total) == 6
    loss.backward()
    assert torch.equal((predicted.grad != 0).any(dim=2), hidden)
    predicted = torch.where(hidden[:, :, None], predicted, 100.0)
    assert torch.equal(objective(images, None, noise, 2)[0], loss)


@pytest.mark.parametrize("changes", CUTS)
@torch.no_grad()
def test_the_encoder_sees_the_visible_patches_alone(changes):
    objective, images = masked(**changes).eval(), torch.randn(2, 3, 12, 8)
    visible, restore = random_masking(objective.draws(2, torch.Generator()), 3)
    shown, prefix = restore < 3, objective.model.config.num_prefix
    by_pixel = shown.reshape(2, 1, 3, 2).repeat_interleave(4, 2).repeat_interleave(4, 3)
    tokens = objective.encode(images, visible)
    assert tokens.shape == (2, prefix + 3, 16)
    assert torch.equal(objective.encode(torch.where(by_pixel, images, 9.0), visible), tokens)
    assert not torch.isclose(objective.encode(torch.where(by_pixel, 9.0, images), visible), tokens).all(2).any()
    # With nothing hidden, and in their own order, they are the model's.
    everything = torch.arange(6).expand(2, -1)
    torch.testing.assert_close(objective.encode(images, everything), objective.model.features(images))
    assert objective.decode(tokens, restore).shape == (2, 6, 48)


# ---- self-distilled


def softmax(values: list[float]) -> list[float]:
    exps = [math.exp(value) for value in values]
    return [value / sum(exps) for value in exps]


@pytest.mark.parametrize(("crops", "changes"), CROPS)
def test_the_loss_of_self_distillation_is_that_of_the_paper(crops, changes):
    objective, images = distilled(crops, **changes).eval(), torch.randn(3, 3, 12, 8)
    shaken(objective.teacher), shaken(objective.teacher_head), objective.centre.normal_(std=0.3)
    draws = objective.draws(3, torch.Generator().manual_seed(2))
    large, small = views(images, draws, 4)
    with torch.no_grad():
        student = [objective.head(pooled(objective.model, view)).tolist() for view in (*large, *small)]
        teacher = [objective.teacher_head(pooled(objective.teacher, view)).tolist() for view in large]
    centre, losses, entropies = objective.centre.tolist(), [], []
    for image in range(3):
        pairs = []
        for t in range(2):
            target = softmax([(g - c) / 0.2 for g, c in zip(teacher[t][image], centre, strict=True)])
            entropies.append(-sum(p * math.log(p) for p in target))
            for s in range(2 + crops):
                if s != t:
                    guess = softmax([g / 0.3 for g in student[s][image]])
                    pairs.append(-sum(p * math.log(q) for p, q in zip(target, guess, strict=True)))
        losses.append(np.mean(pairs))
        assert len(pairs) == 2 * (1 + crops)
    loss, measures = objective(images, None, draws, 3)
    assert loss.item() == pytest.approx(np.mean(losses), abs=1e-5) and set(measures) == set(objective.measures)
    entropies = np.reshape(entropies, (3, 2)).mean(axis=1)
    np.testing.assert_allclose(measures["entropy"], entropies, rtol=0, atol=1e-5)
    np.testing.assert_allclose(measures["divergence"], losses - entropies, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("share", "centring"), [(0.0, 0.8), (0.3, 0.8), (1.0, 0.0), (0.3, 1)])
def test_a_step_moves_centre_and_teacher(share, centring):
    objective = distilled(centring=centring).train()
    shaken(objective.teacher), shaken(objective.teacher_head)
    if centring < 1:
        objective.centre.normal_()
    before = {key: value.clone() for key, value in objective.state_dict().items()}
    outputs = []
    # A batch in two parts, and a part of which no image could be read.
    for images, count in ((torch.randn(3, 3, 12, 8), 3), (torch.randn(2, 3, 12, 8), 2), (torch.zeros(1, 3, 12, 8), 0)):
        draws = objective.draws(len(images), torch.Generator().manual_seed(count))
        loss, _ = objective(images, None, draws, count)
        loss.backward()
        with torch.no_grad():
            large = torch.cat(views(images, draws, 4)[0])
            outputs += objective.teacher_head(pooled(objective.teacher, large)) if count else []
    assert all(torch.equal(value, before[key]) for key, value in objective.state_dict().items()), "not before the step"
    for name, parameter in objective.named_parameters():
        assert (parameter.grad is not None) == parameter.requires_grad == name.startswith(("model.", "head."))
    objective.after_step(share, ALONE)
    after = {key: value.clone() for key, value in objective.state_dict().items()}
    wanted = centring * before["centre"] + (1 - centring) * torch.stack(outputs).mean(dim=0)
    torch.testing.assert_close(after["centre"], wanted, rtol=0, atol=1e-6)
    assert bool(after["centre"].any()) == (centring < 1) and len(outputs) == 10
    momentum = 1 - (1 - 0.9) * (math.cos(math.pi * share) + 1) / 2
    for name, value in before.items():
        if name.startswith("teacher"):
            student = before[name.replace("teacher_head", "head").replace("teacher", "model")]
            value = momentum * value + (1 - momentum) * student
        if name != "centre":
            torch.testing.assert_close(after[name], value, rtol=0, atol=1e-6)
    objective.after_step(share, ALONE)
    assert torch.equal(objective.centre, after["centre"]), "the sums begin anew"


@pytest.mark.parametrize("make", [masked, distilled], ids=lambda make: make.__name__)
def test_an_evaluation_is_the_same_each_time_and_changes_neither_centre_nor_teacher(make, dataset):
    objective = make()
    shaken(objective.kept)
    before = {key: value.clone() for key, value in objective.state_dict().items()}
    found = [measured(objective.train(), dataset.validation, dataset, 40, ALONE, 0) for _ in range(2)]
    assert found[0] == found[1] and set(found[0]) == {"loss", *objective.measures} and objective.training
    objective.after_step(1.0, ALONE)  # at the end the teacher stands still, and no image has been seen
    assert all(torch.equal(value, before[key]) for key, value in objective.state_dict().items())


def test_views_are_parts_of_the_image_in_its_own_colours_or_others():
    images, draw = torch.randn(2, 3, 8, 12), torch.tensor([[0.5] * 7 + [0.6]]).expand(2, -1)  # nothing changes
    torch.testing.assert_close(changed(crop(images, draw, (1, 1), (8, 12)), draw), images)
    for down, right, mirror in ((0, 0, 1), (1, 0, 1), (0, 1, 0)):
        draw = torch.tensor([[0.5, 0.5, down, right, mirror, 0.5, 0.5, 0.5]]).expand(2, -1)
        part = images[:, :, 4 * down : 4 * down + 4, 6 * right : 6 * right + 6]
        wanted = part if mirror else part.flip(3)
        torch.testing.assert_close(crop(images, draw, (0.25, 0.25), (4, 6)), wanted)
    grey = changed(images, torch.tensor([[0.5] * 7 + [0.1]]).expand(2, -1))
    torch.testing.assert_close(grey, images.mean(dim=1, keepdim=True).expand(-1, 3, -1, -1))
    large, small = views(images := torch.randn(2, 3, 32, 48), draws := torch.rand(2, 5 * 8), 4)
    assert [tuple(view.shape[2:]) for view in (*large, *small)] == [(24, 36)] * 2 + [(12, 16)] * 3
    with torch.autocast("cpu", torch.bfloat16):  # the same places in mixed precision
        assert torch.equal(torch.cat(views(images, draws, 4)[0]), torch.cat(large))


@pytest.mark.parametrize("changes", CUTS)
@torch.no_grad()
def test_what_the_head_reads_also_of_smaller_images(changes):
    vit, images = new_model(position=changes.pop("position", "learned"), **changes).eval(), torch.randn(2, 3, 12, 8)
    torch.testing.assert_close(vit.head(pooled(vit, images)), vit(images))
    state, prefix = vit.state_dict(), vit.config.num_positions - 6
    if vit.config.position == "learned":
        grid = state["positions.table"][0, prefix:].unflatten(0, (3, 2)).permute(2, 0, 1)[None]
        small = nn.functional.interpolate(grid, (2, 1), mode="bilinear", antialias=True)[0].flatten(1).T
        state["positions.table"] = torch.cat([state["positions.table"][0, :prefix], small])[None]
    smaller = ViT(replace(vit.config, image_size=(8, 4))).eval()
    smaller.load_state_dict(state)
    torch.testing.assert_close(vit.head(pooled(vit, images[:, :, 2:10, 1:5])), smaller(images[:, :, 2:10, 1:5]))


# ---- runs

BOTH, ONCE = [masked, distilled], TrainingConfig(epochs=1, batch_size=50)


@pytest.mark.slow
@pytest.mark.parametrize("make", BOTH, ids=lambda make: make.__name__)
def test_a_run_that_was_cut_goes_on_exactly(make, dataset, tmp_path, monkeypatch):
    whole, resumed = make(), make()
    history = train(whole, dataset, RECIPE, tmp_path / "whole", progress=False)
    monkeypatch.setattr(runs, "new_model", make)
    cut_after(1, monkeypatch, tmp_path / "cut", dataset, RECIPE)
    torch.manual_seed(99)  # another process would start anywhere
    assert train(resumed, dataset, RECIPE, tmp_path / "cut", resume=True, progress=False) == history
    assert same(whole, resumed) and files(tmp_path / "whole") == files(tmp_path / "cut")


@pytest.mark.slow
@pytest.mark.parametrize("make", BOTH, ids=lambda make: make.__name__)
def test_the_weights_of_the_last_epoch_are_kept_though_its_loss_be_higher(make, dataset, tmp_path, monkeypatch):
    real, losses = loop.measured, iter((1.0, 2.0, 3.0))
    monkeypatch.setattr(loop, "measured", lambda *arguments: real(*arguments) | {"loss": next(losses)})
    objective = make()
    train(objective, dataset, RECIPE, tmp_path, progress=False)
    assert same(pretrained.load(tmp_path / "best.safetensors"), objective.kept)
    assert same(pretrained.load_run(tmp_path).model, objective.kept) and same(load_objective(tmp_path), objective)
    assert make is masked or not same(objective.kept, objective.model)
    kept = json.loads((tmp_path / "config.json").read_text())["objective"]
    assert kept == {"name": objective.name, **objective.options}


@pytest.mark.slow
@pytest.mark.parametrize("make", BOTH, ids=lambda make: make.__name__)
def test_parts_of_a_batch_give_the_same_weights(make, dataset, float64):
    # A bias of the keys has no gradient but rounding, of which AdamW makes whole steps.
    one, other = (make(dropout=0.0, qkv_bias=False) for _ in range(2))
    histories = [train(one, dataset, ONCE, progress=False), train(other, dataset, ONCE, progress=False, accumulate=2)]
    assert histories[0] == [pytest.approx(row, abs=1e-10) for row in histories[1]]
    torch.testing.assert_close(other.state_dict(), one.state_dict(), rtol=0, atol=1e-10)


def test_a_run_of_another_objective_is_refused_by_name(dataset, tmp_path):
    [train(make(), dataset, ONCE, tmp_path / make.__name__, progress=False) for make in (*BOTH, new_model)]
    for of, objective, message in (
        ("masked", masked(0.7), "from a run whose objective has mask_ratio 0.5, but this run's has 0.7"),
        ("masked", distilled(), "from a run whose objective has name 'masked', but this run's has 'self-distilled'"),
        ("distilled", distilled(3), "from a run whose objective has local_crops 2, but this run's has 3"),
        ("distilled", new_model(), "whose objective has name 'self-distilled', but this run's has 'supervised'"),
        ("new_model", masked(), "from a run whose objective has name 'supervised', but this run's has 'masked'"),
    ):
        before = files(tmp_path / of)
        with pytest.raises(ValueError, match=message):
            train(objective, dataset, ONCE, tmp_path / of, resume=True, progress=False)
        assert files(tmp_path / of) == before
