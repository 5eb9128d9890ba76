"""Which token shows which patch is tested on the model itself: models as tutorials write them, in every order."""

import threading

import pytest
import torch
from torch import nn

from vit_course.maps import describe, record_attention
from vit_course.maps.models.description import need_description
from vit_course.maps.models.token_order import NOTHING, SEVERAL, probe_order

SIZE, GRID = (48, 32), (6, 4)
PATCHES = tuple(range(24))


class Layer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, 2, batch_first=True)

    def forward(self, x):
        y = self.norm(x)
        return x + self.attn(y, y, y, need_weights=False)[0]


class Tutorial(nn.Module):
    """A ViT whose tokens stand in the order that `arrange` gives to patches (B, N, D), class token and registers."""

    def __init__(self, arrange, kernel: int = 8):
        super().__init__()
        self.arrange = arrange
        self.projection = nn.Conv2d(3, 24, kernel, 8, (kernel - 8) // 2)
        self.start = nn.Parameter(torch.randn(1, 1, 24))  # not by a name that says what it is
        self.more = nn.Parameter(torch.randn(1, 2, 24))
        self.places = nn.Parameter(torch.randn(1, 24, 24))
        self.layers = nn.ModuleList(Layer(24) for _ in range(2))
        self.dropout = nn.Dropout(0.5)

    def forward(self, images):
        patches = self.projection(images).flatten(2).mT + self.places
        x = self.arrange(patches, *(each.expand(len(images), -1, -1) for each in (self.start, self.more)))
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x)
        return x[:, 0]


describe(Tutorial, "layers", "attn", "projection", {"start": "start"})


def usual(patches, start, more):
    return torch.cat([start, patches], dim=1)


ORDERS = {
    "class token first": (usual, (NOTHING, *PATCHES)),
    "registers after it": (lambda p, s, m: torch.cat([s, m, p], dim=1), (NOTHING,) * 3 + PATCHES),
    "no other token": (lambda p, s, m: p, PATCHES),
    "class token last": (lambda p, s, m: torch.cat([p, s], dim=1), (*PATCHES, NOTHING)),
    "in the middle": (lambda p, s, m: torch.cat([p[:, :9], s, p[:, 9:]], dim=1), (*range(9), NOTHING, *range(9, 24))),
    "registers behind": (lambda p, s, m: torch.cat([s, p, m], dim=1), (NOTHING, *PATCHES, NOTHING, NOTHING)),
    "backwards": (lambda p, s, m: torch.cat([s, p.flip(1)], dim=1), (NOTHING, *PATCHES[::-1])),
    "by columns": (
        lambda p, s, m: torch.cat([s, p.unflatten(1, GRID).transpose(1, 2).flatten(1, 2)], dim=1),
        (NOTHING, *(row * 4 + column for column in range(4) for row in range(6))),
    ),
    "the mean in front": (lambda p, s, m: torch.cat([p.mean(1, keepdim=True), p], dim=1), (SEVERAL, *PATCHES)),
}
RIGHT = {
    "class token first": ("class token",),
    "registers after it": ("extra token 1", "extra token 2", "extra token 3"),
    "no other token": (),
    "the mean in front": ("class token",),
}
REFUSED = {
    "class token last": r"1 of 25 tokens .class token. were expected to come first .* but the tokens that do are 24",
    "in the middle": "but the tokens that do are 9",
    "registers behind": "3 of 27 tokens .* but the tokens that do are 0, 25, 26",
    "backwards": "the token of row 0, column 0 shows the patch of row 5, column 3",
    "by columns": "the token of row 0, column 1 shows the patch of row 1, column 0",
}


OTHERS = {"registers after it": 3, "registers behind": 3, "no other token": 0}


def found_order(model):
    geometry = need_description(model).geometry(SIZE)
    order = probe_order(model, next(iter(need_description(model).attention[0])), 3, geometry)
    return None if order is None else order.patches


@pytest.mark.parametrize("name", ORDERS)
def test_the_patch_of_each_token_is_found(name):
    arrange, order = ORDERS[name]
    model = Tutorial(arrange).train()
    state = torch.get_rng_state()
    assert found_order(model) == order
    assert torch.get_rng_state().equal(state) and model.training and model.layers[0].training
    assert not model.layers[0].attn._forward_pre_hooks


@pytest.mark.parametrize("name", ORDERS)
def test_maps_have_their_tokens_or_none(name):
    model, others = Tutorial(ORDERS[name][0]).eval(), OTHERS.get(name, 1)
    with torch.no_grad(), record_attention(model) as recorded:
        model(torch.randn(3, 3, *SIZE))
        if name in RIGHT:
            tokens = recorded.tokens(prefix=others)  # also inside: the test is no part of the recording
            assert (tokens.prefix, tokens.grid) == (RIGHT[name], GRID)
        else:
            with pytest.raises(ValueError, match=f"Tutorial was tested: .*{REFUSED[name]}"):
                recorded.tokens(prefix=others)
    assert recorded.stacked().shape[:3] == (3, 2, 2)


def test_arguments_stand_above_the_description_and_are_tested_as_well():
    model = Tutorial(usual).eval()
    with torch.no_grad(), record_attention(model) as recorded:
        model(torch.randn(1, 3, *SIZE))
    assert recorded.tokens().prefix == ("start",)
    with pytest.raises(ValueError, match="Tutorial was tested: "):
        recorded.tokens(grid=(4, 6))
    assert recorded.tokens(grid=GRID, prefix=["time"]).prefix == ("time",)


def test_patches_that_overlap_are_told_from_other_tokens():
    order = found_order(Tutorial(usual, kernel=24).eval())
    assert order[0] == NOTHING and set(order[1:]) == {SEVERAL}


def test_a_compiled_model_is_tested_as_it_is_written():
    torch.manual_seed(0)
    model = torch.compile(Tutorial(usual).eval(), backend="eager")
    with torch.no_grad():
        model(torch.randn(2, 3, *SIZE))
    assert found_order(model) == ORDERS["class token first"][1]


class Two(Tutorial):
    def forward(self, images, more):
        return super().forward(images)


def test_a_model_that_cannot_be_run_or_copied_is_not_tested():
    assert found_order(Two(usual)) is None
    model = Tutorial(usual).eval()
    model.lock = threading.Lock()  # which cannot be copied
    with torch.no_grad(), record_attention(model) as recorded:
        model(torch.randn(3, 3, *SIZE))
    tokens = recorded.tokens()
    assert tokens.grid == GRID and not tokens.tested and tokens.pixels(1) is None


def test_a_recording_says_what_it_holds_and_runs_nothing():
    said, ran = [], []
    for call in (lambda model: model(torch.randn(3, 3, *SIZE)), lambda model: None):
        model = Tutorial(usual).eval()
        with torch.no_grad(), record_attention(model) as recorded:
            call(model)
        model.register_forward_pre_hook(lambda *given: ran.append(1))
        said.append(repr(recorded))
    begin = "RecordedMaps: 2 layers of 2 heads over 25 tokens of 3 images; "
    assert said[0] == begin + "ask tokens() which of them are patches" and not ran
    assert said[1].startswith("RecordedMaps: no maps, because nothing was recorded")
