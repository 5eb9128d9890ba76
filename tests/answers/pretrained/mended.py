"""Answers to exercise pretrained.mended."""

from dataclasses import replace

import torch

from answers import UNKNOWN, Answers
from vit_course import pretrained
from vit_course.pretrained import libraries
from vit_course.vit import ViT

answers = Answers("pretrained.mended")
(faulty,) = answers.given("faulty")

answers.edits(("training-mode", "model.eval()", "model.train()"))
answers.wrong("still-faulty")(faulty)


@answers.right
def copied_in_place(state, config):
    model = ViT(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(state[libraries.TORCHVISION.keys(name)[0]])
    return model


@answers.right
def assigned(state, config):
    model = ViT(config)
    names = {key: libraries.TORCHVISION.keys(key)[0] for key in model.state_dict()}
    model.load_state_dict({ours: state[theirs].clone() for ours, theirs in names.items()}, assign=True)
    return model.train(False)


@answers.right
def from_their_names(state, config):
    model = ViT(config).eval()
    ours = {libraries.TORCHVISION.keys(key)[0]: key for key in model.state_dict()}
    model.load_state_dict({ours[key]: value for key, value in state.items()})
    return model


def renamed(state, model):
    """The state dict under our names."""
    return {key: state[libraries.TORCHVISION.keys(key)[0]] for key in model.state_dict()}


def loaded(found, config):
    """A ViT with these weights."""
    model = ViT(config)
    model.load_state_dict(found)
    return model.eval()


def transposed(found, config):
    """The faulty version's third bug."""
    square = (config.hidden_dim, config.hidden_dim)
    return {key: value.T if value.shape == square else value for key, value in found.items()}


@answers.wrong("bugs-left")
def positions_repaired(state, config):
    found = transposed(renamed(state, ViT(config)), config)
    return loaded(found, replace(config, norm_epsilon=1e-5))


@answers.wrong("tokens-differ")
def positions_left(state, config):
    found = renamed(state, ViT(config))
    patches_and_class = found["positions.table"].split([config.num_patches, 1], dim=1)
    found["positions.table"] = torch.cat(patches_and_class[::-1], dim=1)
    return loaded(found, config)


@answers.wrong("norm-differs")
def epsilon_left(state, config):
    return loaded(renamed(state, ViT(config)), replace(config, norm_epsilon=1e-5))


@answers.wrong("projection-differs")
def projection_left(state, config):
    return loaded(transposed(renamed(state, ViT(config)), config), config)


@answers.wrong("epsilon-not-of-the-config")
def epsilon_of_the_package(state, config):
    return pretrained.load_torchvision(state, num_heads=config.num_heads)


@answers.wrong("tokens-differ")
def no_class_token(state, config):
    found = renamed(state, ViT(config))
    found["class_token.token"] = torch.zeros_like(found["class_token.token"])
    return loaded(found, config)


@answers.wrong("norm-differs")
def norm_2_is_norm_1(state, config):
    found = renamed(state, ViT(config))
    return loaded({key: found[key.replace("norm2", "norm1")] for key in found}, config)


@answers.wrong("qkv-differs")
def values_before_keys(state, config):
    found = renamed(state, ViT(config))
    for key in found:
        if ".qkv." in key:
            q, k, v = found[key].chunk(3)
            found[key] = torch.cat([q, v, k])
    return loaded(found, config)


@answers.wrong("heads-differ")
def one_head(state, config):
    return loaded(renamed(state, ViT(config)), replace(config, num_heads=1))


@answers.wrong("head-differs")
def no_head(state, config):
    model = loaded(renamed(state, ViT(config)), config)
    model.head = torch.nn.Identity().eval()
    return model


@answers.wrong("patches-differ")
def not_loaded(state, config):
    return ViT(config).eval()


@answers.wrong("wrong-type")
def state_dict_alone(state, config):
    return loaded(renamed(state, ViT(config)), config).state_dict()


@answers.wrong(UNKNOWN)
def another_mlp(state, config):
    found = renamed(state, ViT(config))
    return loaded({key: 0 * found[key] if "contract.bias" in key else found[key] for key in found}, config)


@answers.wrong(UNKNOWN)
def another_network(state, config):
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(config.num_classes)).eval()
