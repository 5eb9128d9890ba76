"""Interventions in some thirty architectures, and where a model has a mask of its own."""

import architectures
import published
import pytest
import timm
import torch
import torch.nn.functional as F
from by_hand import OURS
from test_intervene import close
from test_recording import hooks
from torch import nn

from vit_course.maps import (
    cut,
    describe,
    hide,
    intervene,
    record_attention,
    without_branch,
    without_head,
    without_layer,
)

NOT_CHANGED = ("timm EfficientFormer", "timm parallel blocks")  # of several stages, and of several attentions a block


class Call(nn.Module):
    """A layer of two heads over tokens (B, T, 12), by one call of PyTorch's with a mask of its own."""

    def __init__(self, own=None, **options):
        super().__init__()
        self.own, self.options = own, options
        self.attention = nn.MultiheadAttention(12, 2, batch_first=True)

    def forward(self, x):
        if self.own is not None:
            return x + self.attention(x, x, x, attn_mask=self.own, **self.options)[0]
        q, k, v = F.linear(x, self.attention.in_proj_weight).unflatten(2, (3, 2, 6)).permute(2, 0, 3, 1, 4)
        return x + F.scaled_dot_product_attention(q, k, v, **self.options).transpose(1, 2).flatten(2)


class Calls(nn.Module):
    def __init__(self, attn_mask):
        super().__init__()
        self.layers = nn.ModuleList([Call(attn_mask)])

    def forward(self, x):
        return self.layers[0](x)


describe(Calls, blocks="layers", attention="attention")


def test_masks_of_the_model_itself_hold_too():
    x, keep = torch.randn(2, 5, 12), torch.ones(5, 5, dtype=torch.bool).tril()
    cutting = keep.clone()
    cutting[3, 1] = False
    minus = torch.zeros(5, 5).masked_fill(~keep, -torch.inf)
    for own, options, other, changed_options in (
        (None, {"is_causal": True}, None, {"attn_mask": cutting}),
        (None, {"attn_mask": keep}, None, {"attn_mask": cutting}),
        (None, {"attn_mask": minus.expand(2, 2, 5, 5)}, None, {"attn_mask": cutting}),
        (~keep, {}, ~cutting, {}),
        (minus, {}, ~cutting, {}),
        (~keep, {"is_causal": True, "need_weights": False}, ~cutting, {}),
        (minus.repeat(4, 1, 1), {}, ~cutting, {}),
    ):
        model, expected = Calls(own), Calls(other)
        expected.load_state_dict(model.state_dict())
        model.layers[0].options, expected.layers[0].options = options, changed_options
        with torch.no_grad(), intervene(model, [cut(3, 1)]):
            found = model(x)
        close(found, expected(x).detach())
        assert not torch.allclose(found, model(x))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name, row in architectures.ROWS.items() if row.grid and name not in NOT_CHANGED]
)
def test_architectures_whose_maps_are_recorded_can_be_changed(name):
    row = architectures.ROWS[name]
    model, images, key = published.shaken(row.make()), torch.randn(2, 3, *row.size), len(row.prefix) + 2
    with torch.no_grad():
        with record_attention(model) as before:
            model(images)
        theirs = hooks(model)
        with intervene(model, [hide(2)]), record_attention(model) as after:
            model(images)
        first = before.stacked()[:, 0]
        first[..., key] = 0
        torch.testing.assert_close(after.stacked()[:, 0], first / first.sum(-1, keepdim=True), rtol=0, atol=1e-5)
        assert after.stacked()[..., key].max() == 0
        seen = []
        kept = [module.register_forward_hook(lambda *given: seen.append(given[2])) for module in model.modules()]
        for one in (without_head(0, 1), without_branch(1, "attention"), without_branch(1, "mlp"), without_layer(1)):
            ends = []
            for interventions in ([], [one]):
                seen.clear()
                with intervene(model, interventions):
                    model(images)
                ends.append(next(x for x in reversed(seen) if isinstance(x, torch.Tensor) and x.is_floating_point()))
            assert not torch.allclose(*ends), one.name
        for hook in kept:
            hook.remove()
    assert hooks(model) == theirs  # some put on their own when they first run


def test_another_picture_is_not_recorded_and_parts_of_the_model_will_do():
    model, images, picture = OURS.model(), OURS.images(), OURS.images(1)
    with torch.no_grad(), record_attention(model) as maps, intervene(model, [without_head(0, 1, picture), hide(2)]):
        tokens = model.features(images)
        close(model.encoder(model.embed(images)), tokens)
    assert maps.stacked().shape == (4, 3, 3, 7, 7) and maps.stacked()[..., 3].max() == 0
    with pytest.raises(ValueError, match="of layer 0 were not seen, only its weights, because it has keys hidden"):
        maps.queries_and_keys()


def test_a_model_without_a_head_is_changed_where_its_features_are_asked_for():
    sizes = dict(img_size=(48, 32), patch_size=8, depth=2, embed_dim=24, num_heads=2, num_classes=0)
    model = timm.create_model("vit_tiny_patch16_224", **sizes, dynamic_img_size=True).eval()
    for size in ((48, 32), (32, 32)):
        images = torch.randn(2, 3, *size)
        with torch.no_grad(), intervene(model, [hide(3)]), record_attention(model) as maps:
            model.forward_features(images)
        assert maps.stacked()[..., 4].max() == 0 and maps.stacked()[..., 3].min() > 0
