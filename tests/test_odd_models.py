"""Models that are easily taken for something else: each recorded and changed right, or refused with the reason."""

import math
import warnings

import pytest
import torch
from torch import nn
from tutorial_attention import HEADS, WIDTH, Attention
from tutorial_models import ROWS, SIZE, Block, SharedBlock, Tutorial, blocks

from vit_course.maps import (
    attention_gradients,
    effects,
    hide,
    intervene,
    logit_lens,
    mean_activations,
    record_attention,
    run_with_cache,
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
    with pytest.raises(ValueError, match="heads before images"):
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
    with pytest.raises(ValueError, match=r"attends from 8 to 13|values \(linear attention\)"):
        recorded(blocks(kind)().eval(), torch.randn(2, 3, *SIZE)).stacked()


class Mixer(Attention):
    """Attention whose name does not say so."""


class Unnamed(Block):
    def __init__(self):
        super().__init__(Mixer)
        self.mix = self.attn
        del self.attn

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + self.mlp(self.norm2(x))


@pytest.mark.parametrize("kind", ["without a name", "quantized"])
@pytest.mark.parametrize("order", ["cp", "pc"])
def test_tokens_are_tested_at_the_layers_that_attended(kind, order):
    model = Tutorial(Unnamed if kind == "without a name" else Block, order).eval()
    if kind == "quantized":
        with warnings.catch_warnings(action="ignore"):  # PyTorch leaves this kind behind
            model = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
    maps = recorded(model, torch.randn(2, 3, *SIZE))
    assert maps.stacked().shape == (2, 2, HEADS, 13, 13)
    if order == "cp":
        assert maps.tokens().tested
    else:
        with pytest.raises(ValueError, match=r"was tested: 1 of 13 tokens .class token. were expected to come"):
            maps.tokens()


class ByName(Tutorial):
    def forward(self, *, pixel_values):
        return super().forward(pixel_values)


def test_images_given_by_name():
    maps = recorded(ByName().eval(), pixel_values=torch.randn(2, 3, *SIZE))
    assert repr(maps).endswith(
        "13 tokens of 2 images; class token, then 4 x 3 patches of 8 x 8 pixels, tested on the model"
    )
    assert maps.stacked().shape == (2, 2, HEADS, 13, 13)


class Loose(Tutorial):
    """Takes its pictures in a dict, words, and an iterator."""

    def forward(self, batch, mode, numbers):
        assert mode == "eval" and list(numbers) == [1, 2]
        return super().forward(batch["picture"][0])


def test_words_and_iterators_are_left_to_the_model():
    maps = recorded(Loose().eval(), {"picture": [torch.randn(2, 3, *SIZE)]}, "eval", iter([1, 2]))
    assert maps.stacked().shape == (2, 2, HEADS, 13, 13) and "not tested to be layers" in repr(maps)


class Frames(Tutorial):
    """Takes a video (B, C, F, H, W) as pictures."""

    def forward(self, video):
        return super().forward(video.transpose(1, 2).flatten(0, 1))


def test_frames_are_no_images():
    with pytest.raises(ValueError, match="saw 10 sequences, but there were 2 images: a model of windows, frames"):
        recorded(Frames().eval(), torch.randn(2, 3, 5, *SIZE)).stacked()


def test_a_block_that_runs_again_has_no_one_value():
    model, images = SharedBlock(), torch.randn(2, 3, *SIZE)
    model.blocks = nn.ModuleList([model.block])
    del model.block
    model.forward_features = lambda images: model.norm(model.blocks[0](model.blocks[0](model.embed(images))))
    model.eval()
    for call in (
        lambda: mean_activations(model, images, ["layer"], progress=False),
        lambda: run_with_cache(model, images, ["blocks.0"]),
    ):
        with pytest.raises(ValueError, match=r"layer 0 \(blocks\.0\) runs more than once in a pass"):
            call()
    for call in (lambda: logit_lens(model, images), lambda: effects(model, images, kind="layers", progress=False)):
        with pytest.raises(ValueError, match="do not each run once in a pass"):
            call()


class ReadsLayers(Tutorial):
    """Its head reads the mean of what all layers give."""

    def forward(self, images):
        x, every = self.embed(images), []
        for block in self.blocks:
            every.append(x := block(x))
        return self.head(self.norm(torch.stack(every).mean(0)).mean(1))


def test_a_head_that_reads_several_layers_has_no_lens():
    with pytest.raises(ValueError, match="the head reads more than the tokens after the last layer"):
        logit_lens(ReadsLayers().eval(), torch.randn(2, 3, *SIZE))


@pytest.mark.parametrize("name", ["class token last", "registers behind", "by columns"])
def test_patches_are_hidden_and_measured_only_where_their_order_was_tested(name):
    model, images = ROWS[name].make().eval(), torch.randn(1, 3, *SIZE)
    with torch.no_grad(), pytest.raises(ValueError, match="was tested"), intervene(model, [hide(1)]):
        model(images)
    for kind, of in (("patches", "logits"), ("layers", "class token")):
        with pytest.raises(ValueError, match="was tested"):
            effects(model, images, kind=kind, of=of, progress=False)


@pytest.mark.parametrize("name", ["a module for each head", "one head"])
def test_gradients_of_single_heads(name, float64):
    torch.manual_seed(0)
    model, images, classes = ROWS[name].make().eval(), torch.randn(2, 3, *SIZE), torch.tensor([0, 3])
    weights, gradients = attention_gradients(model, images, classes)
    maps = recorded(model, images).stacked()
    torch.testing.assert_close(weights, maps)
    assert gradients.shape == maps.shape and (gradients.abs().amax((0, 3, 4)) > 0).all()


class Queue(Tutorial):
    """Fills a queue in its forward, as MoCo does (arXiv:1911.05722), and draws random numbers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("queue", torch.zeros(3))

    def forward(self, images):
        self.queue += torch.rand(3)
        return super().forward(images)


def test_a_trial_run_leaves_nothing_behind():
    model, images = Queue(), torch.randn(2, 3, *SIZE)
    maps = recorded(model, images)
    queue, state = model.queue.clone(), torch.get_rng_state()
    maps.stacked(), maps.tokens(), repr(maps)
    assert model.queue.equal(queue) and torch.get_rng_state().equal(state) and model.training
