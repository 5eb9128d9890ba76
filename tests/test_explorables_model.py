"""The small ViT that computes in the pages of the explorables, against PyTorch's."""

import numpy as np
import pytest
import torch
from explored import NEEDS_CHROMIUM

from vit_course import explorables
from vit_course.data.photographs import photographs
from vit_course.data.pictures import normalise, open_image
from vit_course.explorables.tiny_vit import tiny_vit
from vit_course.maps import record_attention


@NEEDS_CHROMIUM
@pytest.mark.parametrize("count", [3, pytest.param(100, marks=pytest.mark.thorough)])
def test_the_small_vit_of_the_page_is_that_of_chapter_06(count, browser, tmp_path):
    draw, crops = np.random.default_rng(0), []
    for photograph in photographs().values():  # crops of photographs, and as many pictures of noise
        pixels = open_image(photograph.path, 224).permute(1, 2, 0).numpy()
        places = draw.integers(0, 193, (-(-count // len(photographs())), 2))
        crops += [pixels[top : top + 32, left : left + 32] for top, left in places]
    images = np.stack([*crops[:count], *draw.integers(0, 256, (count, 32, 32, 3))]).astype(np.uint8)
    explorables.stream().save_html(tmp_path / "stream.html")
    found, page = tiny_vit(), browser.new_page()
    page.goto((tmp_path / "stream.html").as_uri())
    page.wait_for_selector('.vit-play[data-drawn="true"]')
    compute = """(images) => { const { model } = document.querySelector(".vit-play").play.things;
        return images.map((one) => { const { logits, tokens, maps } = model.forward(model.normalise(one));
            return [logits, tokens.at(-1), maps.at(-1)].map((part) => Array.from(part)); }); }"""
    logits, tokens, maps = zip(*page.evaluate(compute, [image.reshape(-1).tolist() for image in images]), strict=True)
    page.close()
    pixels = normalise(torch.from_numpy(images).permute(0, 3, 1, 2), found.preprocess.mean, found.preprocess.std)
    with torch.no_grad(), record_attention(found.model) as recorded:
        ours = found.model(pixels)
        last = found.model.embed(pixels)
        for block in found.model.encoder.blocks:
            last = block(last)
    assert len(ours) == 2 * count and ours.std() > 0.5
    np.testing.assert_allclose(logits, ours, atol=1e-4, rtol=0)
    np.testing.assert_allclose(tokens, last.flatten(1), atol=1e-4, rtol=0)
    np.testing.assert_allclose(maps, recorded.by_layer[-1][0].flatten(1), atol=1e-4, rtol=0)
