"""Hooks of recordings and interventions: a copy of a model that is made while they are on has none."""

import copy
import pickle

import published
import pytest
import torch
from by_hand import LIBRARIES
from test_intervene import close

from vit_course.maps import intervene, record_attention, without_head

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["ours", "timm"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_made_inside_is_neither_changed_nor_recorded(name, copied):
    library = LIBRARIES[name]
    model, images = library.model().eval(), library.images()
    with torch.no_grad():
        expected = published.logits(model, images)
        with intervene(model, [without_head(0, 0)]), record_attention(model) as maps:
            other = copied(model)
            close(published.logits(other, images), expected)
        close(published.logits(other, images), expected)
    assert not any(maps.by_layer)
