"""Which attention reads what another gave is found on the model, and what cannot be followed is not tested."""

import pytest
import torch
from torch import nn
from tutorial_models import DEPTH, HEADS, ROWS, SIZE, Tutorial

from vit_course.maps import record_attention
from vit_course.maps.anatomy import Anatomy
from vit_course.maps.probe_layers import probe_layers

BEFORE = [set(range(number * HEADS)) for number in range(DEPTH) for _ in range(HEADS)]
READS = {
    "matrix products": [set(), {0}],
    "adds nothing yet": [set(), {0}],
    "one block, run again": [set(), {0}],
    "nn.TransformerEncoder": [set(), {0}],
    "a Siamese pair": [set(), {0}],
    "a module for each head": BEFORE,
    "a norm of its own for each head": BEFORE,
}


@pytest.mark.parametrize("name", READS)
def test_what_each_attention_reads(name):
    model = ROWS[name].make().train()
    state = torch.get_rng_state()
    with torch.inference_mode():
        assert probe_layers(Anatomy(model), SIZE) == READS[name]
    assert torch.get_rng_state().equal(state) and model.training
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert all(parameter.grad is None for parameter in model.parameters())


class Cut(Tutorial):
    """Stops gradients between its layers, so that its graph says nothing."""

    def forward_features(self, images):
        x = self.embed(images)
        for block in self.blocks:
            x = block(x.detach())
        return self.norm(x)


class Needy(Tutorial):
    def forward(self, images, more):
        return super().forward(images)


@pytest.mark.parametrize(("kind", "more"), [(Cut, ()), (Needy, (1,))])
def test_what_cannot_be_followed_is_recorded_and_not_tested(kind, more):
    model, images = kind().eval(), torch.randn(2, 3, *SIZE)
    assert probe_layers(Anatomy(model), SIZE) is None
    with record_attention(model) as recorded:
        model(images, *more)
    assert recorded.stacked().shape == (2, DEPTH, HEADS, 13, 13)


def test_frozen_backbones_that_run_without_gradients_are_not_tested():
    class Probe(nn.Module):
        def __init__(self):
            super().__init__()
            self.backbone, self.head = Tutorial().requires_grad_(False), nn.Linear(5, 2)

        def forward(self, images):
            with torch.no_grad():
                features = self.backbone(images)
            return self.head(features)

    model = Probe().eval()
    assert probe_layers(Anatomy(model), SIZE) is None
    with record_attention(model) as recorded:
        model(torch.randn(2, 3, *SIZE))
    assert recorded.stacked().shape == (2, DEPTH, HEADS, 13, 13)
