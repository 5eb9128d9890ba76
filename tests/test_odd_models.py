"""Models that are easily taken for something else: each recorded and changed right, or refused with the reason."""

import math

import pytest
import timm
import torch
from torch import nn
from tutorial_attention import HEADS, WIDTH, Attention
from tutorial_models import ROWS, SIZE, Block, Described, OfPyTorch, Tutorial, blocks

from vit_course.maps import (
    attention_gradients,
    describe,
    effects,
    head_attribution,
    hide,
    intervene,
    logit_lens,
    mean_activations,
    patched,
    record_attention,
    run_with_cache,
    without_branch,
    without_layer,
)


def recorded(model, *given, **named):
    with torch.no_grad(), record_attention(model) as maps:
        model(*given, **named)
    return maps


class HeadsFirst(Attention):
    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(2, (3, self.heads, -1)).permute(2, 3, 0, 1, 4)  # (h, B, T, d) each
        out = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v
        return self.out(out.permute(1, 2, 0, 3).flatten(2))


@pytest.mark.parametrize("count", [1, 2, HEADS])
def test_heads_before_images_are_no_images(count):
    with pytest.raises(ValueError, match=r"heads before images|there are as many images as heads, 3"):
        recorded(blocks(HeadsFirst)().eval(), torch.randn(count, 3, *SIZE)).stacked()


class Linear(Attention):
    """Linear attention (arXiv:1812.01243), whose queries have a softmax over their numbers."""

    width = 8

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 9 * self.width), nn.Linear(3 * self.width, WIDTH)

    def forward(self, x):
        q, k, v = self.project(x)
        return self.out((q.softmax(-1) @ (k.softmax(-2).mT @ v)).transpose(1, 2).flatten(2))


class AsWideAsTokens(Linear):
    width = 13


@pytest.mark.parametrize("kind", [Linear, AsWideAsTokens])
def test_linear_attention_has_no_maps(kind):
    with pytest.raises(ValueError, match=r"attends from 8 to 13|as many tokens as there are numbers in a head"):
        recorded(blocks(kind)().eval(), torch.randn(2, 3, *SIZE)).stacked()


class Unnamed(Block):
    """Its attention has another name."""

    def __init__(self):
        super().__init__()
        self.mix = self.attn
        del self.attn

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Loose(Tutorial):
    """Takes its pictures in a dict, words, and an iterator."""

    def forward(self, batch, mode, numbers):
        assert mode == "eval" and list(numbers) == [1, 2]
        return super().forward(batch["picture"][0])


def test_names_of_modules_and_kinds_of_arguments_do_not_matter():
    images = torch.randn(2, 3, *SIZE)
    assert recorded(Tutorial(Unnamed).eval(), images).stacked().shape == (2, 2, HEADS, 13, 13)
    maps = recorded(Loose().eval(), {"picture": [images]}, "eval", iter([1, 2]))
    assert maps.stacked().shape == (2, 2, HEADS, 13, 13)


class Frames(Tutorial):
    """Takes a video (B, C, F, H, W) as pictures."""

    def forward(self, video):
        return super().forward(video.transpose(1, 2).flatten(0, 1))


def test_frames_are_no_images():
    with pytest.raises(ValueError, match="attends in 10 sequences, but there are 2 images: windows, frames"):
        recorded(Frames().eval(), torch.randn(2, 3, 5, *SIZE)).stacked()


class RunsTwice(Described):
    def forward_features(self, images):
        return self.norm(self.blocks[0](self.blocks[0](self.embed(images))))


def test_a_block_that_runs_again_has_no_one_value():
    model, images = RunsTwice().eval(), torch.randn(2, 3, *SIZE)
    for call in (
        lambda: mean_activations(model, images, ["layer"], progress=False),
        lambda: run_with_cache(model, images, ["blocks.0"]),
        lambda: logit_lens(model, images),
        lambda: effects(model, images, kind="layers", progress=False),
    ):
        with pytest.raises(ValueError, match=r"layer 0 \(blocks\.0\) runs more than once in a pass"):
            call()


class ReadsLayers(Described):
    """Its head reads the mean of what all layers give."""

    def forward(self, images):
        x, every = self.embed(images), []
        for block in self.blocks:
            every.append(x := block(x))
        return self.head(self.norm(torch.stack(every).mean(0)).mean(1))


def test_a_head_that_reads_several_layers_has_no_lens():
    with pytest.raises(ValueError, match="what follows the layers reads more than their tokens"):
        logit_lens(ReadsLayers().eval(), torch.randn(2, 3, *SIZE))


@pytest.mark.parametrize("order", [dict(order="pc"), dict(order="cpr"), dict(by_columns=True)])
def test_patches_are_hidden_and_measured_only_where_their_order_was_tested(order):
    model, images = Described(**order).eval(), torch.randn(1, 3, *SIZE)
    wrong = "was tested|tokens, but 4 x 3 patches"
    with torch.no_grad(), pytest.raises(ValueError, match=wrong), intervene(model, [hide(1)]):
        model(images)
    for kind, of in (("patches", "logits"), ("layers", "class token")):
        with pytest.raises(ValueError, match=wrong):
            effects(model, images, kind=kind, of=of, progress=False)


@pytest.mark.parametrize("name", ["a module for each head, described", "one head, described"])
def test_gradients_of_single_heads(name, float64):
    torch.manual_seed(0)
    model, images, classes = ROWS[name].make().eval(), torch.randn(2, 3, *SIZE), torch.tensor([0, 3])
    weights, gradients = attention_gradients(model, images, classes)
    maps = recorded(model, images).stacked()
    torch.testing.assert_close(weights, maps)
    assert gradients.shape == maps.shape and (gradients.abs().amax((0, 3, 4)) > 0).all()


class Queue(Described):
    """Fills a queue in its forward, as MoCo does (arXiv:1911.05722), draws random numbers, and keeps its maps."""

    def __init__(self):
        super().__init__()
        self.register_buffer("queue", torch.zeros(3))
        self.blocks[0].attn.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.kept = output

    def forward(self, images):
        self.queue += torch.rand(3)
        return super().forward(images)


def test_to_read_a_result_changes_nothing():
    model, images = Queue(), torch.randn(2, 3, *SIZE)
    maps = recorded(model, images)
    queue, kept, state = model.queue.clone(), model.kept, torch.get_rng_state()
    maps.stacked(), maps.tokens(), repr(maps), maps.by_layer[0]
    assert model.queue.equal(queue) and model.kept is kept and torch.get_rng_state().equal(state) and model.training


class TokensFirst(nn.Module):
    """Layers of PyTorch without batch_first, which take tokens (T, B, D)."""

    def __init__(self, batch_first=False):
        super().__init__()
        self.model = OfPyTorch(batch_first)

    def forward(self, images):
        return self.model(images).mean(0)


class ImagesFirst(TokensFirst):
    def forward(self, images):
        return self.model(images).mean(1)


for kind in (TokensFirst, ImagesFirst):
    describe(kind, "model.encoder.layers", "self_attn", "model.project", {"class token": "model.cls_token"})


def test_tokens_before_images_are_recorded_and_not_changed():
    images = torch.randn(2, 3, *SIZE)
    for kind, first in ((TokensFirst, False), (ImagesFirst, True)):
        model = kind(first).eval()
        assert recorded(model, images).tokens().tested
        for call in (
            lambda model=model: effects(model, images, kind="layers", progress=False),
            lambda model=model: mean_activations(model, images, ["layer"], progress=False),
            lambda model=model: run_with_cache(model, images, ["blocks.*"]),
        ):
            if first:
                call()
            else:
                with pytest.raises(ValueError, match=r"tokens \(13, \d, 24\) of \d images: the images must be"):
                    call()


class OneByOne(Attention):
    """Goes over the images by torch.vmap, inside of which no number can be read."""

    def forward(self, x):
        def attend(q, k, v):
            return (q @ k.mT).softmax(-1) @ v

        return self.out(torch.vmap(attend)(*self.project(x)).transpose(1, 2).flatten(2))


def test_what_cannot_be_recorded_runs_to_its_end():
    model, images = blocks(OneByOne)().eval(), torch.randn(2, 3, *SIZE)
    with torch.no_grad():
        expected = model(images)
        with record_attention(model) as maps:
            assert torch.equal(model(images), expected)
    with pytest.raises(ValueError, match="its attention could not be recorded"):
        maps.stacked()


class NoNorm(Tutorial):
    """Without a norm after its layers."""

    def forward_features(self, images):
        x = self.embed(images)
        for block in self.blocks:
            x = block(x)
        return x


describe(NoNorm, blocks="blocks", attention="attn", patches="project", tokens={"class token": "c"})


def test_effects_on_a_token_without_a_last_norm():
    model, images = NoNorm().eval(), torch.randn(1, 3, *SIZE)
    found = effects(model, images, kind="layers", of="class token", progress=False).values
    with torch.no_grad():
        before = model.forward_features(images)[:, 0]
        after = model.blocks[1](model.embed(images))[:, 0]
    torch.testing.assert_close(found[0], 1 - torch.cosine_similarity(before, after)[0])


class KeepsItsBatch(Described):
    """Uses the number of its images behind the layers."""

    def forward(self, images):
        x = self.forward_features(images)
        return self.head(x.reshape(len(images), 13, -1).mean(1))


def test_a_model_may_keep_the_number_of_its_images():
    model, images = KeepsItsBatch().eval(), torch.randn(3, 3, *SIZE)
    every = effects(model, images, progress=False).each
    one = effects(model, images[1:2], progress=False, batch_size=1).each
    torch.testing.assert_close(every[1:2], one, rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match="what follows the layers reads more than their tokens"):
        logit_lens(model, images)


class ReadsTwo(Described):
    """Its head reads the class tokens of the last two layers, as linear probes of DINO do."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(2 * WIDTH, 5)

    def forward(self, images):
        x, ends = self.embed(images), []
        for block in self.blocks:
            x = block(x)
            ends.append(x[:, 0])
        return self.head(torch.cat(ends, dim=1))


def test_a_head_that_reads_two_layers_has_no_parts():
    with pytest.raises(ValueError, match="the head reads more than the tokens after the last layer"):
        head_attribution(ReadsTwo().eval(), torch.randn(2, 3, *SIZE), torch.tensor([1, 2]))


class Copies(Block):
    """Keeps a copy of its tokens for its residual connection."""

    def forward(self, x):
        kept = x.clone()
        x = kept + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class AddsInside(nn.Module):
    """Attention with its norm and its residual connection."""

    def __init__(self):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(WIDTH), Attention()

    def forward(self, x):
        return x + self.attention(self.norm(x))


class Whole(Block):
    def __init__(self):
        super().__init__(AddsInside)

    def forward(self, x):
        x = self.attn(x)
        return x + self.mlp(self.norm2(x))


@pytest.mark.parametrize(("block", "why"), [(Copies, "does not add its attention"), (Whole, "adds its tokens itself")])
def test_a_branch_that_is_not_added_to_the_tokens_is_refused(block, why):
    model = Described(block).eval()
    with pytest.raises(ValueError, match=why), intervene(model, [without_branch(1, "attention")]):
        model(torch.randn(3, 3, *SIZE))


class AddsTo(Block):
    """Adds in place, and returns what it was given."""

    def forward(self, x):
        x.add_(self.attn(self.norm1(x)))
        x.add_(self.mlp(self.norm2(x)))
        return x


def test_effects_of_layers_that_add_in_place_are_those_of_others():
    model, same, images = Described(AddsTo).eval(), Described().eval(), torch.randn(2, 3, *SIZE)
    same.load_state_dict(model.state_dict())
    for kind in ("heads", "branches", "layers"):
        found, expected = (effects(one, images, kind=kind, progress=False).each for one in (model, same))
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-6)
    with torch.no_grad(), intervene(model, [patched(2, 1, images[:1])]), intervene(same, [patched(2, 1, images[:1])]):
        torch.testing.assert_close(model(images), same(images))


class Twice(nn.Module):
    """Test-time augmentation."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images):
        return self.model(images) + self.model(images.flip(3))


def test_a_value_of_two_passes_is_none():
    model, images = Twice(Described()).eval(), torch.randn(2, 3, *SIZE)
    for call in (
        lambda: mean_activations(model, images, progress=False),
        lambda: run_with_cache(model, images),
        lambda: head_attribution(model, images, torch.tensor([0, 1])),
        lambda: effects(model, images, of="class token", progress=False),
    ):
        with pytest.raises(ValueError, match="Twice runs the Described inside it several times in a pass"):
            call()
    with pytest.raises(ValueError, match="runs its layers several times for one call"):
        attention_gradients(model, images, torch.tensor([0, 1]))


def test_hooks_of_others_see_what_is_changed():
    model, images, seen = Described().eval(), torch.randn(2, 3, *SIZE), []
    model.blocks[1].register_forward_hook(lambda *given: seen.append((given[1][0], given[2])))
    with torch.no_grad(), intervene(model, [without_layer(1)]):
        model(images)
        with intervene(model, [patched(2, 1, torch.ones(1, 13, WIDTH))]):
            model(images)
    assert torch.equal(*seen[0]) and (seen[1][0][:, 2] == 1).all()


class LastOfTimm(timm.models.vision_transformer.VisionTransformer):
    """A class of somebody's own, which puts its class token last."""

    def _pos_embed(self, x):
        return torch.cat([x.flatten(1, -2) + self.pos_embed[:, 1:], self.cls_token.expand(len(x), -1, -1)], dim=1)


class DinoVisionTransformer(timm.models.vision_transformer.VisionTransformer):
    """The parts of the authors' DINOv2 by their names, in timm's code."""

    def __init__(self):
        super().__init__(img_size=SIZE, patch_size=8, embed_dim=24, depth=2, num_heads=3)
        self.register_tokens = nn.Parameter(torch.randn(1, 2, 24))

    def _pos_embed(self, x):
        x = super()._pos_embed(x)
        return torch.cat([x[:, :1], self.register_tokens.expand(len(x), -1, -1), x[:, 1:]], dim=1)


DinoVisionTransformer.__module__ = "dinov2.models.vision_transformer"


def test_the_authors_dinov2_is_known_by_its_names_and_tested():
    tokens = recorded(DinoVisionTransformer().eval(), torch.randn(2, 3, *SIZE)).tokens()
    assert tokens.prefix == ("class token", "register 1", "register 2") and tokens.tested


def test_what_is_derived_from_a_librarys_class_is_tested():
    model = LastOfTimm(img_size=SIZE, patch_size=8, embed_dim=24, depth=2, num_heads=3).eval()
    with pytest.raises(ValueError, match="was tested"):
        recorded(model, torch.randn(2, 3, *SIZE)).tokens()


def test_a_copy_of_a_model_that_has_kept_its_graph_is_tested():
    model = Described(order="pc").eval()
    model.kept = model(torch.randn(2, 3, *SIZE))  # with its graph, which cannot be copied
    with pytest.raises(ValueError, match="was tested"):
        recorded(model, torch.randn(2, 3, *SIZE)).tokens()


def test_nothing_is_changed_where_layers_run_again_in_the_backward_pass():
    model = timm.create_model("vit_tiny_patch16_224", img_size=SIZE, patch_size=8, depth=2, embed_dim=24, num_heads=3)
    model.set_grad_checkpointing(True)
    with pytest.raises(ValueError, match="activation checkpointing is on"), intervene(model, [without_layer(1)]):
        pass
