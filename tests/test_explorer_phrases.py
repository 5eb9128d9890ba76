"""Phrases in the explorer: which patches are like one, in Python and on the page, and what is refused."""

import numpy as np
import pytest
import torch
from explored import NEEDS_CHROMIUM, drawn, opening, photograph, random_panel, says
from runs import new_model

from vit_course import data
from vit_course.explorer import AttentionExplorer, explore
from vit_course.training import Contrastive

PHRASES = ["a red ring", "a small blue cross", "a white triangle above a green ring"]


@pytest.fixture(scope="module")
def clip():
    torch.manual_seed(0)
    vit = new_model(num_classes=0, image_size=(24, 30), patch_size=6)
    return Contrastive(vit, text_layers=1, embedding_dim=12).eval()


@pytest.fixture(scope="module")
def scene():
    return data.scenes(1, 1, 1, image_size=(24, 30))


def test_phrases_are_classes_and_compared_with_every_token(clip, scene):
    image = scene.normalise(scene.test.images)
    explorer = explore(clip, image, phrases=PHRASES)
    (panel,) = explorer._shown
    with torch.no_grad():
        tokens = clip.image_projection(clip.model.features(image)[0])  # (T, E)
        wanted = torch.nn.functional.normalize(tokens, dim=1) @ clip.embed_sentences(PHRASES).T
    found = np.stack([panel.phrases[phrase] for phrase in PHRASES], axis=1)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert explorer._panels[0]["phrases"] == PHRASES
    assert sorted(explorer._panels[0]["says"]["labels"]) == sorted(PHRASES)
    beside = explore(clip, image, phrases=PHRASES, beside="flipped")
    assert [one["phrases"] for one in beside._panels] == [PHRASES, PHRASES]


def test_what_phrases_cannot_be_is_refused(clip, scene):
    image = scene.normalise(scene.test.images)
    with pytest.raises(TypeError, match="with phrases, model must be a Contrastive, got ViT"):
        explore(clip.model, image, phrases=PHRASES)
    with pytest.raises(ValueError, match="phrases must be a list of at least 2 sentences, got 'a red ring'"):
        explore(clip, image, phrases="a red ring")
    with pytest.raises(ValueError, match="trained without the word 'pink'"):
        explore(clip, image, phrases=["a pink ring", "a red ring"])
    with pytest.raises(ValueError, match="phrase must be a whole number from -1 to 2, got 3"):
        explore(clip, image, phrases=PHRASES, phrase=3)
    given = random_panel()
    with pytest.raises(ValueError, match=r"phrases must be a dict from each phrase to .* cosines, got "):
        AttentionExplorer(**given, phrases=["a red ring"])
    with pytest.raises(ValueError, match=r"the phrase 'a red ring' needs \d+ cosines, one for each token, got "):
        AttentionExplorer(**given, phrases={"a red ring": torch.zeros(3)})


@NEEDS_CHROMIUM
def test_a_phrase_is_chosen_and_let_go(browser, tmp_path):
    given = random_panel()
    tokens = given["features"].shape[0]
    generator = torch.Generator().manual_seed(1)
    phrases = {phrase: 2 * torch.rand(tokens, generator=generator) - 1 for phrase in PHRASES}
    with opening(browser, tmp_path / "page.html") as opened:
        page = opened(AttentionExplorer(**given, phrases=phrases, query=3))
        before = photograph(page)
        seen = []
        for phrase, cosines in phrases.items():
            button = page.get_by_role("button", name=f"“{phrase}”")
            button.click()
            prefix = page.locator(".vit-chip").count() - len(phrases)
            highest = f"with a cosine of {cosines[prefix:].max():.2f}"
            says(page, f"After the last layer, “{phrase}” is most like the patch in row", highest)
            assert button.get_attribute("aria-pressed") == "true"
            assert page.locator(".vit-about").inner_text() == "cosine with the phrase"
            assert page.locator(".vit-low").inner_text() == f"{cosines[prefix:].min():.2f}"
            seen.append(photograph(page))
        assert (seen[0] != seen[1]).any() and (seen[1] != seen[2]).any() and (seen[0] != before).any()
        button.click()
        drawn(page)
        assert button.get_attribute("aria-pressed") == "false"
        assert "“" not in says(page, "After the last layer, ")
