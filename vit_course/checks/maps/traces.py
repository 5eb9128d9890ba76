"""Checks what a recording function leaves on the model: hooks, modes, methods, gradients, weights."""

import copy

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.snapshot import Left
from vit_course.checks.tools.calling import ask, call
from vit_course.checks.tools.mistakes import Slip, refuse
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
    before, given = (
        _state(watched),
        f"Input:    images {tuple(too_high.shape)} for a model of {model.config.image_size}",
    )
    came, own = _error_of(lambda: ask(answer, watched, too_high)), _error_of(lambda: model(too_high))
    now = _state(watched, before)
    if came is None or isinstance(came, Left):
        sentence = "For images of the wrong size, the model raises an error, but your function returns as if nothing "
        raise Wrong("error-hidden", f"{sentence}had happened.", [given])
    if type(came) is not type(own):  # the words may differ, where the parts of the model are called one by one
        raise Wrong(
            "error-replaced",
            "For images of the wrong size, the error is not the one that the model raises.",
            [given, f"Expected: {type(own).__name__}: {own}", f"Received: {type(came).__name__}: {came}"],
        )
    try:
        _compare(before, now, "After an error of the model, here for images of the wrong size")
    except Wrong as wrong:
        raise Wrong(f"{wrong.mistake}-after-error", wrong.sentence, wrong.details) from None


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
        "attributes": {(number, name) for number, module in enumerate(modules) for name in _kept_on(module)},
        "learning": [parameter.requires_grad for parameter in model.parameters()],
        "gradients": any(parameter.grad is not None for parameter in model.parameters()),
        "weights": copy.deepcopy(model.state_dict()),
    }


def _kept_on(module: nn.Module) -> set[str]:
    # The names of what is kept on a module, without a forward method that is its class's own.
    forward = vars(module).get("forward")
    found = (getattr(forward, "__self__", None), getattr(forward, "__func__", None))
    return vars(module).keys() - ({"forward"} if found == (module, type(module).forward) else set())


def _alike(one: dict, other: dict) -> bool:
    same = one.keys() == other.keys()
    return same and all(value.dtype == other[name].dtype and value.equal(other[name]) for name, value in one.items())


def _compare(before: dict, now: dict, when: str) -> None:
    details = ["Expected: the model as it was", "Received: a changed model"]
    refuse(TRACES, dict(before=before, now=now, when=when), details)


TRACES = [
    Slip(
        "hooks-of-others-removed",
        "{when}, other hooks that were on the model before are gone.",
        lambda before, now: not before["hooks"] <= now["hooks"],
    ),
    Slip(
        "hooks-left",
        "{when}, your hooks are still there and keep recording.",
        lambda now, before: now["hooks"] - before["hooks"],
    ),
    Slip(
        "forward-replaced",
        "{when}, a module of the model has a different forward method.",
        lambda now, before: any(name == "forward" for _, name in now["attributes"] - before["attributes"]),
    ),
    Slip(
        "mode-changed",
        "{when}, the model is not in the mode that it was in before (training or evaluation).",
        lambda now, before: now["modes"] != before["modes"],
    ),
    Slip(
        "attribute-left",
        "{when}, the model has attributes that it did not have before.",
        lambda now, before: now["attributes"] - before["attributes"],
    ),
    Slip(
        "weights-frozen",
        "{when}, some weights of the model can no longer be trained: requires_grad has changed.",
        lambda now, before: now["learning"] != before["learning"],
    ),
    Slip(
        "grads-left",
        "{when}, the weights have gradients, which the next step would add to.",
        lambda now: now["gradients"],
    ),
    Slip(
        "wrong-behaviour",
        "{when}, some weights of the model are not the same as before.",
        lambda now, before: not _alike(now["weights"], before["weights"]),
    ),
]
