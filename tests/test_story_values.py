"""What the story is made of: the stored numbers say what its words say, and the model still gives them."""

import json
import re

import numpy as np
import pytest

from vit_course import data, explorables
from vit_course._support.widgets import scripts
from vit_course.explorables.story import EYES, WORDS, controls, everything, markup, values

STEPS = 11  # with the title


def test_what_is_stored_is_what_the_words_say():
    found = values()
    rows = found["rows"].astype(float) / 255 * found["largest"][:, None]
    assert np.abs(rows.sum(axis=1) - 1).max() < 0.1, "weights of one square add up to 1, but for the rounding"
    own, other = (rows[101, [i + 1 for i in EYES[name]]].sum() for name in ("own", "other"))
    assert other > 0.45 and own > 0.35
    alike = found["alike"] / 127
    assert alike[:, 101].min() > 0.99 and alike[0, 124] < 0.5 < 0.9 < alike[-1, 124]
    for order in found["orders"]:
        assert sorted(order) == list(range(256))
    places, none = found["shuffled"][:, :, 3]
    assert places[0] > 0.99 and places[1:].max() < 0.8 and np.ptp(none) < 1e-4
    assert np.median(found["changed"], axis=1).max() < 0.02
    assert len({*found["changed"].argmax(axis=1)}) == 3 and "differs between" in controls()


@pytest.mark.slow
def test_the_model_still_says_what_is_stored():
    import torch
    import torch.nn.functional as F

    from vit_course import maps, pretrained

    model, preprocess, words = pretrained.load_run("vit-s14-cifar10", image_size=224)
    photo = preprocess(data.photographs()["cat"].path)
    with torch.no_grad(), maps.record_attention(model) as recorded:
        probabilities = model(photo).softmax(dim=1)[0]
        end = model.features(photo)[0]
        other = model.features(preprocess(data.photographs()["grace_hopper"].path))[0, 1:]
    found = values()
    assert tuple(words) == WORDS
    np.testing.assert_allclose(found["shuffled"][0, 0], probabilities, atol=1e-3)
    queries, keys = recorded.queries_and_keys()
    weights = (queries[0, 8, 3] @ keys[0, 8, 3].mT / 8).softmax(dim=-1)[1:]
    np.testing.assert_allclose(found["rows"] / 255 * found["largest"][:, None], weights, atol=0.003)
    near = F.cosine_similarity(end[102][None], other)
    assert int(near.argmax()) == found["nearest"][0] and abs(float(near.max()) - found["near"][0]) < 0.01


def test_it_is_small_and_reads_without_scripts(tmp_path):
    explorables.story().save_html(tmp_path / "story.html")
    text = (tmp_path / "story.html").read_text(encoding="utf-8")
    assert len(text.encode()) < 300_000
    assert len(re.findall(r'<section class="story-step', text)) == STEPS
    assert [f'id="story-seen-{scene}"' in text for scene in range(STEPS)] == [True] * STEPS
    assert "href" not in re.sub(r'<link rel="icon"[^>]*>', "", text.split("<script")[0]), "links to no other file"
    assert "data-file" not in text.split("<script")[0] and 'type="file"' not in text.split("<script")[0]
    with pytest.raises(FileExistsError):
        explorables.story().save_html(tmp_path / "story.html")
    lines = [
        path.read_text(encoding="utf-8").count("\n")
        for path in (scripts.PACKAGE / "explorables" / "js").rglob("stor*/*.js")
    ]
    assert sum(lines) < 1500
    assert len(json.dumps(everything()["_facts"])) < 5000 and "$" not in markup().split("<script")[0]
