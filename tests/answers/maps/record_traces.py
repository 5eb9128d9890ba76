"""More answers to exercise maps.record, which leave something on the model."""

import contextlib

import torch
from torch import nn

from answers import wrong
from answers.maps.record import hooked, with_hooks


@wrong("maps.record", "hooks-left")
def never_removed(model, images):
    return torch.stack(hooked(model, images, tidy=False), 1)


@wrong("maps.record", "hooks-left")
def one_removed(model, images):
    kept = []
    for block in model.encoder.blocks:
        handle = block.register_forward_hook(lambda _, inputs, output: kept.append(output))
    model(images)
    handle.remove()
    return torch.stack(kept, 1)


@wrong("maps.record", "hooks-left-after-error")
def no_finally(model, images):
    kept = []
    handles = [b.register_forward_hook(lambda _, inputs, output: kept.append(output)) for b in model.encoder.blocks]
    model(images)
    for handle in handles:
        handle.remove()
    return torch.stack(kept, 1)


@wrong("maps.record", "error-hidden")
def swallowed(model, images):
    try:
        return with_hooks(model, images)
    except ValueError:
        return None


@wrong("maps.record", "mode-changed")
def left_in_eval(model, images):
    return with_hooks(model.eval(), images)


@wrong("maps.record", "hooks-of-others-removed")
def all_hooks_cleared(model, images):
    try:
        return torch.stack(hooked(model, images, tidy=False), 1)
    finally:
        for block in model.encoder.blocks:
            block._forward_hooks.clear()


@wrong("maps.record", "hooks-left")
def hook_for_all_modules_left(model, images):
    kept, blocks = [], set(model.encoder.blocks)
    nn.modules.module.register_module_forward_hook(lambda m, _, out: kept.append(out) if m in blocks else None)
    model(images)
    return torch.stack(kept, 1)


@wrong("maps.record", "mode-changed")
def always_trained_afterwards(model, images):
    model.eval()
    found = with_hooks(model, images)
    model.train()
    return found


@wrong("maps.record", "mode-changed-after-error")
def mode_not_put_back_after_an_error(model, images):
    was = model.training
    found = with_hooks(model.eval(), images)
    model.train(was)
    return found


@wrong("maps.record", "run-in-training-mode")
def with_the_models_dropout(model, images):
    was = model.training
    try:
        return with_hooks(model.train(), images)
    finally:
        model.train(was)


@wrong("maps.record", "error-replaced")
def another_error(model, images):
    try:
        return with_hooks(model, images)
    except ValueError as error:
        raise RuntimeError("the images do not fit") from error


@wrong("maps.record", "error-replaced")
def error_passed_over(model, images):
    kept = []
    handles = [b.register_forward_hook(lambda _, inputs, output: kept.append(output)) for b in model.encoder.blocks]
    with contextlib.suppress(ValueError):
        model(images)
    for handle in handles:
        handle.remove()
    return torch.stack(kept, 1)


@wrong("maps.record", "attribute-left")
def kept_on_the_model(model, images):
    model.kept = hooked(model, images)
    return torch.stack(model.kept, 1)


@wrong("maps.record", "weights-frozen")
def frozen(model, images):
    return with_hooks(model.requires_grad_(False), images)


@wrong("maps.record", "grads-left")
def with_a_backward_pass(model, images):
    found = with_hooks(model, images)
    found.sum().backward()
    return found.detach()


@wrong("maps.record", "gradients-left")
def gradients_off(model, images):
    torch.set_grad_enabled(False)
    return with_hooks(model, images)


@wrong("maps.record", "layers-by-number")
def twelve_blocks(model, images):
    return torch.stack(hooked(model, images, [model.encoder.blocks[i] for i in range(12)]), 1)


@wrong("maps.record", "forward-replaced")
def forward_replaced(model, images):
    kept = []

    def recording(forward):
        def forward_and_keep(x):
            kept.append(forward(x))
            return kept[-1]

        return forward_and_keep

    for block in model.encoder.blocks:
        block.forward = recording(block.forward)
    model(images)
    return torch.stack(kept, 1)
