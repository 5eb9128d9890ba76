"""Checks what a recording function leaves on the model: hooks, modes, methods, gradients, weights."""

import copy

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.snapshot import Left
from vit_course.checks.tools.calling import ask, call
from vit_course.vit import ViT

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
# Where hooks for the modules of all models lie.
_HOOKS_ON_ALL = (nn.modules.module._global_forward_hooks, nn.modules.module._global_forward_pre_hooks)


def no_trace(answer, model: ViT, images: torch.Tensor) -> None:
    """Raises `Wrong` where the call has changed the model, in training or in evaluation mode."""
    for training in (True, False):
        watched = _with_hooks_of_others(model).train(training)
        before = _state(watched)
        try:
            call(answer, watched, images)
        finally:
            now = _state(watched, before)
        _compare(before, now, "After the call")


def no_trace_of_an_error(answer, model: ViT, images: torch.Tensor) -> None:
    """Raises `Wrong` where an error of the model is not passed on, or leaves a trace."""
    too_high = torch.cat([images, images[:, :, : model.config.patch_size]], dim=2)  # (B, C, H + P, W)
    watched = _with_hooks_of_others(model).train()
    before = _state(watched)
    came = _error_of(lambda: ask(answer, watched, too_high))
    own = _error_of(lambda: model(too_high))
    now = _state(watched, before)
    given = f"Input:    images {tuple(too_high.shape)} for a model of {model.config.image_size}"
    if came is None or isinstance(came, Left):
        sentence = "For images of the wrong size, the model raises an error, but your function returns as if nothing "
        raise Wrong("error-hidden", f"{sentence}had happened.", [given])
    if type(came) is not type(own):  # the words may differ, where the parts of the model are called one by one
        raise Wrong(
            "error-replaced",
            "For images of the wrong size, the error is not the one that the model raises.",
            [given, f"Expected: {type(own).__name__}: {own}", f"Received: {type(came).__name__}: {came}"],
        )
    _compare(before, now, "After an error of the model, here for images of the wrong size")


def _with_hooks_of_others(model: ViT) -> ViT:
    model = copy.deepcopy(model)
    for module in (model, model.encoder, *model.encoder.blocks, model.encoder.norm):
        module.register_forward_hook(lambda *_: None)
        module.register_forward_pre_hook(lambda *_: None)
    return model


def _error_of(run) -> Exception | None:
    try:
        run()
    except Wrong:
        raise
    except Exception as error:
        return error
    return None


def _state(model: ViT, before: dict | None = None) -> dict:
    """What the model is at this moment; hooks put on all models since `before` are counted and taken away."""
    modules = list(model.modules())
    places = [*_HOOKS_ON_ALL, *(getattr(module, kind) for module in modules for kind in _HOOKS)]
    hooks = {(id(hook), key) for place in places for key, hook in place.items()}
    for place in _HOOKS_ON_ALL:
        for hook, key in (hooks - before["hooks"]) if before else ():
            if key in place and id(place[key]) == hook:
                del place[key]
    return {
        "hooks": hooks,
        "modes": [module.training for module in modules],
        "forward methods": [_is_forward_replaced(module) for module in modules],
        "attributes": [vars(module).keys() - {"forward"} for module in modules],
        "values of requires_grad": [parameter.requires_grad for parameter in model.parameters()],
        "gradients": [parameter.grad is not None for parameter in model.parameters()],
        "weights": copy.deepcopy(model.state_dict()),
    }


def _is_forward_replaced(module: nn.Module) -> bool:
    # A module may keep the forward method of its own class.
    forward = vars(module).get("forward")
    own = (getattr(forward, "__self__", None), getattr(forward, "__func__", None)) == (module, type(module).forward)
    return forward is not None and not own


def _same_weights(one: dict, other: dict) -> bool:
    same = one.keys() == other.keys()
    return same and all(value.dtype == other[name].dtype and value.equal(other[name]) for name, value in one.items())


def _compare(before: dict, now: dict, when: str) -> None:
    details = ["Expected: the model as it was", "Received: a changed model"]
    if now["hooks"] - before["hooks"]:
        raise Wrong("hooks-left", f"{when}, your hooks are still there and keep recording.", details)
    if now["modes"] != before["modes"]:
        sentence = f"{when}, the model is not in the mode that it was in before (training or evaluation)."
        raise Wrong("mode-changed", sentence, details)
    for part, value in before.items():
        same = _same_weights(value, now[part]) if part == "weights" else value == now[part]
        if not same:
            raise Wrong("wrong-behaviour", f"{when}, the model has other {part} than before.", details)
