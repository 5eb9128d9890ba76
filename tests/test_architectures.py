"""Attention maps of many architectures: equal to the library's own and placed rightly, or refused with the reason."""

import re

import pytest
import torch
from architectures import ROWS, truth
from conftest import cases
from published import shaken
from test_recording import recorded

from vit_course.maps.recording import record_attention
from vit_course.pretrained import load_huggingface, load_timm

pytestmark = pytest.mark.slow

TAKEN = [name for name, row in ROWS.items() if row.grid]
REFUSED = [name for name, row in ROWS.items() if row.refused]


@cases("name", TAKEN)
def test_maps_are_those_of_the_library_and_the_patches_lie_where_they_lie(name):
    row = ROWS[name]
    model, images = shaken(row.make()), torch.randn(2, 3, *row.size)
    maps = recorded(model, images)
    stacked, tokens = maps.stacked(), maps.tokens()
    rows, columns = row.grid
    count = len(row.prefix) + rows * columns
    assert stacked.shape == (2, row.layers, row.heads, count, count)
    assert tokens.prefix == row.prefix and tokens.grid == row.grid
    assert not model._forward_hooks and not model._forward_pre_hooks  # ViTPose has some of its own further inside
    expected = truth(name, model, images)
    assert expected.std() > 1e-3, "all weights alike would prove nothing"
    torch.testing.assert_close(stacked, expected, rtol=0, atol=1e-5)


LOADED = {
    "timm SigLIP": load_timm,
    "timm CLIP": load_timm,
    "timm DINOv2 with registers": load_timm,
    "timm DeiT distilled": load_timm,
    "transformers DINOv2 with registers": load_huggingface,
}


@cases("name", LOADED)
def test_in_our_vit_the_maps_and_the_names_are_the_same(name):
    row = ROWS[name]
    theirs = shaken(row.make())
    size = (42, 42) if name.startswith("transformers") else row.size  # positions are as published, for this size
    ours, images = LOADED[name](theirs), torch.randn(2, 3, *size)
    before = recorded(theirs, images)
    with torch.no_grad(), record_attention(ours) as after:
        ours.features(images)
    torch.testing.assert_close(after.stacked(), before.stacked(), rtol=0, atol=1e-5)
    assert after.tokens() == before.tokens()


@cases("name", REFUSED)
def test_what_has_no_map_of_all_tokens_is_refused_with_the_reason(name):
    row = ROWS[name]
    maps = recorded(row.make().eval(), torch.randn(1, 3, *row.size))
    with pytest.raises(ValueError, match=row.refused) as caught:
        maps.tokens()
    assert len(re.findall(r"[.!?] [A-Z]", str(caught.value))) == 0, "one sentence"
