"""Answers to exercise pretrained.mended."""

from dataclasses import replace

import torch
from torch import nn

from answers import right, unforeseen, wrong
from vit_course import pretrained
from vit_course.pretrained.libraries import TORCHVISION
from vit_course.vit import ViT


def _loaded(state, config, change=None):
    model = ViT(config)
    found = {}
    for key in model.state_dict():
        (theirs,) = TORCHVISION.keys(key)
        found[key] = state[theirs].clone()
    if change:
        change(found)
    model.load_state_dict(found)
    return model.eval()


@right("pretrained.mended")
def names_alone(state, config):
    return _loaded(state, config)


@wrong("pretrained.mended", "epsilon-not-of-the-config")
def by_the_package(state, config):
    return pretrained.load_torchvision(state, num_heads=config.num_heads)


@right("pretrained.mended")
def assigned(state, config):
    model = ViT(config)
    found = {key: state[TORCHVISION.keys(key)[0]] for key in model.state_dict()}
    model.load_state_dict(found, assign=True)
    return model.train(False)


@wrong("pretrained.mended", "epsilon-not-of-the-config")
def published_epsilon(state, config):
    return _loaded(state, replace(config, norm_epsilon=1e-6))


@wrong("pretrained.mended", "gelu-differs")
def another_gelu(state, config):
    return _loaded(state, replace(config, gelu="tanh"))


@wrong("pretrained.mended", "head-differs")
def head_forgotten(state, config):
    return _loaded(state, config, lambda found: found["head.bias"].zero_())


@wrong("pretrained.mended", "head-differs")
def head_taken_off(state, config):
    model = _loaded(state, config)
    model.head = nn.Identity().eval()
    return model


@wrong("pretrained.mended", "mlp-differs")
def bias_forgotten(state, config):
    return _loaded(state, config, lambda found: [found[k].zero_() for k in found if k.endswith("contract.bias")])


@wrong("pretrained.mended", "blocks-missing")
def one_block(state, config):
    return _loaded(state, replace(config, num_layers=1))


@wrong("pretrained.mended", "training-mode")
def encoder_in_training(state, config):
    model = _loaded(state, config)
    model.encoder.train()
    return model


@wrong("pretrained.mended", "wrong-dtype")
def in_double(state, config):
    return _loaded(state, config).double()


@wrong("pretrained.mended", "sizes-differ")
def sizes_of_the_example(state, config):
    return _loaded(state, replace(config, image_size=8, patch_size=4, hidden_dim=60, num_heads=3, mlp_dim=20))


@right("pretrained.mended")
def copied_in_place(state, config):
    model = ViT(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(state[TORCHVISION.keys(name)[0]])
    return model


@wrong("pretrained.mended", "tokens-differ")
def epsilon_and_projection_mended(state, config):
    def class_row_last(found):
        found["positions.table"] = found["positions.table"].roll(1, dims=1)

    return _loaded(state, config, class_row_last)


@wrong("pretrained.mended", "tokens-differ")
def nothing_mended(state, config):
    def all_three(found):
        found["positions.table"] = found["positions.table"].roll(1, dims=1)
        _turn(found, config)

    return _loaded(state, replace(config, norm_epsilon=1e-5), all_three)


@wrong("pretrained.mended", "tokens-differ")
def class_token_forgotten(state, config):
    return _loaded(state, config, lambda found: found["class_token.token"].zero_())


@wrong("pretrained.mended", "norm-differs")
def epsilon_left(state, config):
    return _loaded(state, replace(config, norm_epsilon=nn.LayerNorm(1).eps))


@wrong("pretrained.mended", "norm-differs")
def epsilon_of_another_library(state, config):
    return _loaded(state, replace(config, norm_epsilon=1e-12), lambda found: _turn(found, config))


def _turn(found, config):
    for number in range(config.num_layers):
        key = f"encoder.blocks.{number}.attention.projection.weight"
        found[key] = found[key].T


@wrong("pretrained.mended", "projection-differs")
def projection_left(state, config):
    return _loaded(state, config, lambda found: _turn(found, config))


@wrong("pretrained.mended", "qkv-differs")
def order_changed(state, config):
    def swap(found):
        for key in found:
            if ".qkv." in key:
                q, k, v = found[key].chunk(3)
                found[key] = torch.cat([q, v, k])

    return _loaded(state, config, swap)


@wrong("pretrained.mended", "heads-differ")
def heads_changed(state, config):
    return _loaded(state, replace(config, num_heads=1))


@wrong("pretrained.mended", "patches-differ")
def never_loaded(state, config):
    return ViT(config).eval()


@wrong("pretrained.mended", "training-mode")
def in_training(state, config):
    return _loaded(state, config).train()


@wrong("pretrained.mended", "input-changed")
def in_place(state, config):
    for value in state.values():
        value.mul_(1.5)
    return _loaded(state, config)


@wrong("pretrained.mended", "wrong-type")
def the_dict(state, config):
    return _loaded(state, config).state_dict()


@wrong("pretrained.mended", "returned-nothing")
def forgot_return(state, config):
    _loaded(state, config)


@wrong("pretrained.mended", "config-set")
def set_in_the_config(state, config):
    config.norm_epsilon = 1e-6
    return _loaded(state, config)


@unforeseen("pretrained.mended")
def no_vit(state, config):
    return nn.Sequential(nn.Flatten(), nn.LazyLinear(config.num_classes)).eval()
