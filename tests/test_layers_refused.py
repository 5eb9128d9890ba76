"""Models of which it cannot be told what a layer is: refused with the reason, and no head is taken for a layer."""

import published
import pytest
import timm
import torch
from test_layers_in_lists import Layer
from test_recording import hooks
from torch import nn

from vit_course.explorer import explore
from vit_course.maps import hide, intervene, patched, without_head, without_layer


class AttentionHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.qkv = nn.Linear(36, 3 * width)

    def forward(self, x):
        q, k, v = self.qkv(x)[:, None].chunk(3, dim=-1)
        return ((q @ k.mT).softmax(-1) @ v)[:, 0]


class MultiHeadAttention(nn.Module):
    """Attention of three heads, each of which is a module."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(AttentionHead(12) for _ in range(3))
        self.projection = nn.Linear(36, 36)

    def forward(self, x):
        return self.projection(torch.cat([head(x) for head in self.heads], dim=-1))


def encoder(depth, as_list=True):
    layers = [Layer(MultiHeadAttention(), nn.Linear(36, 36)) for _ in range(depth)]
    return nn.Sequential(*layers) if as_list else layers[0]


SIZES = dict(img_size=(16, 24), patch_size=8, embed_dim=24, num_heads=2, num_classes=5)
SEVERAL = "there are several attention modules in one block, {}: {}, {}"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: encoder(1, as_list=False), SEVERAL.format("attention", "attention.heads.0", "attention.heads.1")),
        (lambda: encoder(1), SEVERAL.format("0.attention", "0.attention.heads.0", "0.attention.heads.1")),
        (lambda: encoder(2), SEVERAL.format("0", "0.attention.heads.0", "0.attention.heads.1")),
        (
            lambda: timm.create_model("vit_small_patch16_18x2_224", depth=2, **SIZES),
            SEVERAL.format("blocks.0", "blocks.0.attns.0.attn", "blocks.0.attns.1.attn"),
        ),
    ],
)
def test_several_attention_modules_in_one_block(make, message):
    model = make()
    with pytest.raises(ValueError, match=message.replace(".", r"\.")), intervene(model, [without_layer(0)]):
        pass


class LoneBlock(nn.Module):
    """A layer that holds its heads itself."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(AttentionHead(12) for _ in range(3))

    def forward(self, x):
        return x + torch.cat([head(x) for head in self.heads], dim=-1)


def test_heads_are_seen_not_to_be_layers_when_they_run():
    model, x = LoneBlock(), torch.randn(2, 5, 36)
    for one in (without_layer(0), without_head(2, 0), patched(0, 1, torch.ones(1, 5, 36))):
        message = r"heads\.\d adds nothing to its tokens, .* one of several attention modules in one block \(heads\.0, "
        with pytest.raises(ValueError, match=message), intervene(model, [one]):
            model(x)


def test_what_such_a_head_gives_is_not_shown_as_tokens():
    class Patches(nn.Module):
        def __init__(self):
            super().__init__()
            self.project, self.block = nn.Conv2d(3, 36, 8, 8), LoneBlock()

        def forward(self, images):
            return self.block(self.project(images).flatten(2).mT)

    panel = explore(Patches(), torch.rand(3, 16, 24), preprocess=lambda x: x)._panels[0]
    assert (panel["layers"], panel["heads"], panel["width"]) == (1, 3, 24)
    assert "features" not in [section["name"] for section in panel["sections"]]


def test_branches_beside_each_other_are_seen_when_they_run():
    model = timm.create_model("vit_small_patch16_18x2_224", depth=1, **SIZES).eval()
    x = torch.randn(2, 3, 16, 24)
    for one in (without_layer(0), without_head(1, 0), hide(0), patched(0, 0, x)):
        message = r"layer 0 .*was seen before blocks\.0\.attns\.1.* several attention modules run in one block"
        with pytest.raises(ValueError, match=message), intervene(model, [one]):
            model(x)
    assert hooks(model) == 0


def test_layers_whose_end_is_not_known():
    model = published.vit_pytorch_vit((14, 21)).eval()

    def postnorm(x):
        for attention, mlp in model.transformer.layers:
            x = model.transformer.norm(attention(x) + x)
            x = model.transformer.norm(mlp(x) + x)
        return x

    model.transformer.forward = postnorm
    with (
        pytest.raises(ValueError, match=r"layer 0 .*was seen before transformer\.layers\.1\.0"),
        intervene(model, [without_layer(1)]),
    ):
        model(torch.randn(2, 3, 14, 21))


def test_the_explorer_shows_layers_that_it_cannot_trace():
    model = timm.create_model("vit_small_patch16_18x2_224", depth=1, **SIZES)
    panel = explore(model, torch.rand(3, 16, 24), preprocess=lambda x: x)._panels[0]
    assert (panel["layers"], panel["heads"]) == (1, 4) and panel["says"] is None
