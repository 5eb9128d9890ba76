"""Learning from captions: both losses against transformers, the batch as a whole, runs, and what is refused."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import runs
import torch
from runs import cut_after, new_model, same
from transformers import SiglipConfig, SiglipModel
from transformers.models.clip.modeling_clip import image_text_contrastive_loss

from vit_course import data
from vit_course.training import Contrastive, TrainingConfig, load_objective, train
from vit_course.training.contrastive import embed_all, retrieval_accuracy, sigmoid_loss, softmax_loss

RECIPE = TrainingConfig(epochs=2, batch_size=16, learning_rate=1e-3)
LOSSES = ("softmax", "sigmoid")


@pytest.fixture(scope="module")
def scenes():
    return data.scenes(40, 20, 20, image_size=24)


def contrastive(loss="softmax", **changes) -> Contrastive:
    torch.manual_seed(0)
    vit = new_model(num_classes=0, image_size=24, in_channels=3, patch_size=6, **changes)
    return Contrastive(vit, loss, text_layers=1, embedding_dim=12)


def test_the_softmax_loss_is_that_of_clip(float64):
    logits = 5 * torch.randn(7, 7)
    ours = softmax_loss(logits, logits.T, torch.arange(7))
    torch.testing.assert_close(ours, image_text_contrastive_loss(logits), atol=1e-12, rtol=0)


def test_the_sigmoid_loss_is_that_of_siglip(float64):
    # SigLIP's own model and its loss, with given vectors in place of what its two towers compute.
    sizes = dict(hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2)
    of_text, of_images = sizes | {"vocab_size": 9}, sizes | {"image_size": 8, "patch_size": 4}
    config = SiglipConfig(text_config=of_text, vision_config=of_images)
    theirs = SiglipModel(config)
    vectors = dict(vision_model=torch.randn(7, 8), text_model=torch.randn(7, 8))
    for name, vector in vectors.items():
        getattr(theirs, name).forward = lambda *_, out=vector, **__: SimpleNamespace(pooler_output=out)
    torch.nn.init.constant_(theirs.logit_scale, 1.3)
    torch.nn.init.constant_(theirs.logit_bias, -2.5)
    wanted = theirs(torch.zeros(7, 1, dtype=torch.int64), torch.zeros(7, 3, 8, 8), return_loss=True)
    ours = contrastive("sigmoid").double()
    torch.nn.init.constant_(ours.log_scale, 1.3)
    torch.nn.init.constant_(ours.bias, -2.5)
    image, text = (torch.nn.functional.normalize(vector, dim=1) for vector in vectors.values())
    torch.testing.assert_close(ours.logits(image, text), wanted.logits_per_image, atol=1e-12, rtol=0)
    loss = sigmoid_loss(ours.logits(image, text), ours.logits(text, image), torch.arange(7))
    torch.testing.assert_close(loss, wanted.loss, atol=1e-12, rtol=0)


def test_vectors_are_pooled_projected_and_of_length_one():
    objective = contrastive(pool="mean")
    images = torch.randn(3, 3, 24, 24)
    found = objective.eval().embed_images(images)
    z = objective.image_projection(objective.model.features(images).mean(dim=1))
    torch.testing.assert_close(found, z / z.norm(dim=1, keepdim=True))
    text = objective.embed_sentences(["a red ring", "a small blue cross above a green ring"])
    torch.testing.assert_close(text.norm(dim=1), torch.ones(2))


def test_the_scores_of_patches_add_up_to_the_cosine(float64):
    objective = contrastive(pool="mean", num_registers=2).double().eval()
    images, sentences = torch.randn(3, 3, 24, 24), ["a red ring", "a green cross below a blue circle"]
    scores = objective.patch_scores(images, sentences)
    assert scores.shape == (3, 2, 4, 4)
    cosines = objective.embed_images(images) @ objective.embed_sentences(sentences).T
    torch.testing.assert_close(scores.mean(dim=(2, 3)), cosines, atol=1e-12, rtol=0)
    with pytest.raises(ValueError, match="patch_scores needs a ViT with pool='mean', got pool='cls'"):
        contrastive().patch_scores(images, sentences)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_largest_scale_is_a_hundred(loss):
    objective = contrastive(loss)
    torch.nn.init.constant_(objective.log_scale, 20.0)
    one = torch.nn.functional.normalize(torch.randn(4, 12), dim=1)
    bias = 0.0 if objective.bias is None else objective.bias.item()
    torch.testing.assert_close(objective.logits(one, one).diagonal(), torch.full((4,), 100.0 + bias))


def test_words_become_indices_and_what_is_unknown_is_refused():
    text = contrastive().text
    tokens = text.tokenise(["a red ring", "a red"])
    assert tokens.shape == (2, 14) and tokens.dtype == torch.int64
    assert (
        (tokens[0, :2] == tokens[1, :2]).all() and tokens[0, 3:].eq(0).all() and len(set(tokens[0, :3].tolist())) == 3
    )
    with pytest.raises(ValueError, match="trained without the word 'pink': it knows a, above"):
        text.tokenise(["a pink ring"])
    with pytest.raises(ValueError, match="must have 1 to 14 words, got 15"):
        text.tokenise(["a " * 15])
    with pytest.raises(ValueError, match="must have 1 to 14 words, got 0"):
        text.tokenise([" "])
    with pytest.raises(TypeError, match="sentences must be a list of str, got 'a red ring'"):
        text.tokenise("a red ring")


def test_the_order_of_words_counts():
    text = contrastive().text.eval()
    tokens = text.tokenise(["a red ring above a blue cross", "a blue ring above a red cross"])
    one, other = text(tokens)
    assert (one - other).abs().max() > 1e-4


@pytest.mark.parametrize("loss", LOSSES)
def test_a_few_steps_bring_captions_to_their_images(loss, scenes):
    objective = contrastive(loss, pool="mean")
    recipe = replace(RECIPE, epochs=12, learning_rate=3e-3, optimiser="muon")
    history = train(objective, scenes, recipe, progress=False)
    assert history[-1]["train_loss"] < 0.8 * history[0]["train_loss"]
    assert history[-1]["train_matched"] > history[0]["train_matched"] > 0
    assert set(history[0]) >= {"validation_loss", "validation_matched"}


@pytest.mark.parametrize("loss", LOSSES)
def test_a_resumed_run_gives_the_same_weights(loss, scenes, tmp_path, monkeypatch):
    whole = contrastive(loss)
    train(whole, scenes, RECIPE, tmp_path / "whole", progress=False)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "new_model", lambda: contrastive(loss))
        cut_after(1, monkeypatch, tmp_path / "cut", scenes, RECIPE)
    again = contrastive(loss)
    train(again, scenes, RECIPE, tmp_path / "cut", resume=True, progress=False)
    assert same(whole, again)
    loaded = load_objective(tmp_path / "whole")
    sentences = ["a red ring", "a blue cross to the left of a small green ring"]
    torch.testing.assert_close(loaded.embed_sentences(sentences), whole.eval().embed_sentences(sentences))
    assert json.loads((tmp_path / "whole" / "config.json").read_text())["objective"] == {
        "name": "contrastive", "loss": loss, "text_layers": 1, "embedding_dim": 12
    }  # fmt: skip


def test_what_is_found_is_judged_by_what_the_caption_says(scenes):
    # A perfect model: each image has its own direction, and each caption that of one image of which it is true.
    class Knows(Contrastive):
        def embed_sentences(self, sentences):
            wanted = torch.stack([scenes.test.is_true(one) for one in sentences])
            return torch.eye(len(scenes.test))[wanted.double().argmax(1)]

        def embed_images(self, images):
            return torch.eye(len(scenes.test))[: len(images)]

    torch.manual_seed(0)
    knows = Knows(new_model(num_classes=0, image_size=24, patch_size=6)).eval()
    share, chance = retrieval_accuracy(knows, scenes.test, scenes, batch_size=20)
    assert share == 1.0 and 1 / 20 <= chance < 0.3
    assert embed_all(contrastive().eval(), scenes.test, scenes, batch_size=7).shape == (20, 12)


def test_what_a_batch_of_captions_cannot_be_is_refused(scenes):
    with pytest.raises(ValueError, match=r"compares all images of a batch, .* accumulate must be 1, got 2"):
        train(contrastive(), scenes, RECIPE, accumulate=2, progress=False)
    for setting in (dict(flip=True), dict(randaugment=3)):
        with pytest.raises(ValueError, match=f"{next(iter(setting))} changes what is seen, so that captions would be"):
            train(contrastive(), scenes, replace(RECIPE, **setting), progress=False)
    with pytest.raises(ValueError, match="mixup mixes labels, but the objective contrastive uses none"):
        train(contrastive(), scenes, replace(RECIPE, mixup=0.2), progress=False)
    with pytest.raises(ValueError, match="needs images with captions: of the course's data, scenes"):
        train(contrastive(), data.shapes(20, 5, 5, image_size=24), RECIPE, progress=False)
    with pytest.raises(ValueError, match="loss must be 'softmax' or 'sigmoid', got 'hinge'"):
        contrastive("hinge")
    with pytest.raises(TypeError, match="vit must be a ViT, got Linear"):
        Contrastive(torch.nn.Linear(3, 3))
