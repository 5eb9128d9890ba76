"""Answers to exercise maps.record."""

import copy
from functools import partial

import torch
from torch import nn

from answers import UNKNOWN, Answers

answers = Answers("maps.record")

answers.edits(
    ("layers-after-tokens", "dim=1", "dim=2"),
    ("tokens-side-by-side", "torch.stack", "torch.cat"),
    ("returned-nothing", "return torch", "torch"),
)


@answers.right
def by_hand(model, images):
    z = model.dropout(model.positions(model.class_token(model.patch_embedding(images))))
    kept = []
    for block in model.encoder.blocks:
        z = block(z)
        kept.append(z[:, None])
    return torch.cat(kept, dim=1)


def keep(forward, kept, z):
    kept.append(forward(z))
    return kept[-1]


@answers.right
def forward_replaced_for_a_while(model, images):
    kept, blocks = [], model.encoder.blocks
    before = [block.forward for block in blocks]
    for block in blocks:
        block.forward = partial(keep, block.forward, kept)
    try:
        model(images)
    finally:
        for block, forward in zip(blocks, before, strict=True):
            block.forward = forward
    return torch.stack(kept, 1)


@answers.right
def of_a_copy(model, images):
    model = copy.deepcopy(model)
    kept = []
    for block in model.encoder.blocks:
        block.register_forward_hook(lambda block, inputs, output: kept.append(output))
    with torch.no_grad():
        model(images)
    return torch.stack(kept).transpose(0, 1)


def recorded(model, images, modules):
    """As the solution does it, of any modules."""
    kept = []
    handles = [module.register_forward_hook(lambda module, inputs, output: kept.append(output)) for module in modules]
    try:
        model(images)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(kept, dim=1)


@answers.wrong("mlp-recorded")
def mlp_recorded(model, images):
    return recorded(model, images, [block.mlp for block in model.encoder.blocks])


@answers.wrong("hook-takes-three")
def hook_takes_two(model, images):
    kept = []
    handles = [block.register_forward_hook(lambda block, output: kept.append(output)) for block in model.encoder.blocks]
    try:
        model(images)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(kept, dim=1)


@answers.wrong("hook-gives-no-tokens")
def hook_returns_something(model, images):
    kept = []

    def hook(block, inputs, output):
        kept.append(output)
        return kept

    handles = [block.register_forward_hook(hook) for block in model.encoder.blocks]
    try:
        model(images)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(kept, dim=1)


@answers.wrong("hooks-left")
def never_removed(model, images):
    kept = []
    for block in model.encoder.blocks:
        block.register_forward_hook(lambda block, inputs, output: kept.append(output))
    model(images)
    return torch.stack(kept, dim=1)


@answers.wrong("hooks-left")
def without_try(model, images):
    kept = []

    def hook(block, inputs, output):
        kept.append(output)

    handles = [block.register_forward_hook(hook) for block in model.encoder.blocks]
    model(images)
    for handle in handles:
        handle.remove()
    return torch.stack(kept, dim=1)


@answers.wrong("error-hidden")
def error_caught(model, images):
    try:
        return recorded(model, images, model.encoder.blocks)
    except ValueError:
        return None


@answers.wrong("error-replaced")
def other_error(model, images):
    try:
        return recorded(model, images, model.encoder.blocks)
    except ValueError as error:
        raise RuntimeError("the images do not fit") from error


@answers.wrong("mode-changed")
def left_in_evaluation_mode(model, images):
    return recorded(model.eval(), images, model.encoder.blocks)


@answers.wrong("wrong-behaviour")
def list_left_on_the_model(model, images):
    model.kept = recorded(model, images, model.encoder.blocks)
    return model.kept


@answers.wrong("wrong-behaviour")
def weights_frozen(model, images):
    model.requires_grad_(False)
    return recorded(model, images, model.encoder.blocks)


@answers.wrong("wrong-behaviour")
def hooks_of_others_removed(model, images):
    out = recorded(model, images, model.encoder.blocks)
    for block in model.encoder.blocks:
        block._forward_hooks.clear()
    return out


@answers.wrong("wrong-behaviour")
def forward_left(model, images):
    kept = []
    for block in model.encoder.blocks:
        block.forward = partial(keep, block.forward, kept)
    model(images)
    return torch.stack(kept, 1)


@answers.wrong(UNKNOWN)
def weights_changed(model, images):
    nn.init.zeros_(model.head.weight)
    return recorded(model, images, model.encoder.blocks)


@answers.wrong(UNKNOWN)
def squared(model, images):
    return recorded(model, images, model.encoder.blocks) ** 2
