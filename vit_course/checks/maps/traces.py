"""What a function that records leaves on the model: hooks, modes, methods, gradients, weights."""

import copy

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import ask, call
from vit_course.checks.worker import Left
from vit_course.vit import ViT

_KINDS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
# Where hooks for the modules of all models lie.
_GLOBAL = (nn.modules.module._global_forward_hooks, nn.modules.module._global_forward_pre_hooks)


def no_trace(answer, model: ViT, images: torch.Tensor) -> None:
    """A `Wrong` where the model is another after the call, in training or in evaluation mode."""
    for training in (True, False):
        watched = _with_hooks_of_others(model).train(training)
        before = _State(watched)
        try:
            call(answer, watched, images)
        finally:
            before.clear_global()
        before.compare(watched, "After the call")


def no_trace_of_an_error(answer, model: ViT, images: torch.Tensor) -> None:
    """A `Wrong` where an error of the model does not come through, or leaves a trace."""
    patch = model.config.patch_size
    too_high = torch.cat([images, images[:, :, :patch]], dim=2)  # (B, C, H + P, W)
    watched = _with_hooks_of_others(model).train()
    before = _State(watched)
    own = _error_of(watched, too_high)
    given = f"Input:    images {tuple(too_high.shape)} for a model of {model.config.image_size}"
    try:
        ask(answer, watched, too_high)
    except Wrong:
        raise
    except Exception as error:
        came = None if isinstance(error, Left) else error
    else:
        came = None
    finally:
        before.clear_global()
    if came is None:
        sentence = "For images of the wrong size the model raises an error, and your function returns as if nothing "
        raise Wrong("error-hidden", f"{sentence}were.", [given])
    if type(came) is not type(own):  # the words may differ, where the parts of the model are called one by one
        raise Wrong(
            "error-replaced",
            "For images of the wrong size another error comes through than the one that the model raises.",
            [given, f"Expected: {type(own).__name__}: {own}", f"Received: {type(came).__name__}: {came}"],
        )
    before.compare(watched, "After an error of the model, here for images of the wrong size", "-after-error")


def runs_in_its_mode(answer, model: ViT, images: torch.Tensor) -> None:
    """A `Wrong` where a model in evaluation mode is run in training mode, with dropout."""
    modes = set()
    watched = copy.deepcopy(model).eval()
    for block in watched.encoder.blocks:
        block.register_forward_pre_hook(lambda block, _: modes.add(block.training))
    call(answer, watched, images)
    if True in modes:
        sentence = "The model was in evaluation mode, and your function ran it in training mode, with dropout."
        raise Wrong("run-in-training-mode", sentence)


def _with_hooks_of_others(model: ViT) -> ViT:
    model = copy.deepcopy(model)
    for module in (model, model.encoder, *model.encoder.blocks, model.encoder.norm):
        module.register_forward_hook(lambda *_: None)
        module.register_forward_pre_hook(lambda *_: None)
    return model


def _error_of(model: ViT, images: torch.Tensor) -> Exception:
    try:
        model(images)
    except Exception as error:
        return error
    raise AssertionError("the model takes images of the wrong size")


def _hooks(model: nn.Module) -> set[int]:
    places = [getattr(module, kind) for module in model.modules() for kind in _KINDS]
    return {id(hook) for place in places for hook in place.values()}


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and torch.equal(a, b)


def _own(module: nn.Module) -> set[str]:
    """The names of what is kept on a module, without a forward method that is its class's own."""
    kept = vars(module)
    forward = kept.get("forward")
    of_the_class = (
        getattr(forward, "__self__", None) is module and getattr(forward, "__func__", None) is type(module).forward
    )
    return kept.keys() - ({"forward"} if of_the_class else set())


class _State:
    """A model at one moment."""

    def __init__(self, model: ViT):
        self.hooks, self.everywhere, self.left_everywhere = _hooks(model), [set(place) for place in _GLOBAL], 0
        self.modes = [module.training for module in model.modules()]
        self.names = [_own(module) for module in model.modules()]
        self.learning = [parameter.requires_grad for parameter in model.parameters()]
        self.weights = copy.deepcopy(model.state_dict())

    def clear_global(self) -> None:
        """Takes away the hooks that were put on all models since."""
        for place, kept in zip(_GLOBAL, self.everywhere, strict=True):
            for key in place.keys() - kept:
                del place[key]
                self.left_everywhere += 1

    def compare(self, model: ViT, when: str, end: str = "") -> None:
        """A `Wrong` where the model is no longer what it was."""
        now = _hooks(model)
        if not self.hooks <= now:
            gone = ["Expected: the hooks that were there before", f"Received: {len(self.hooks - now)} of them gone"]
            sentence = f"{when}, hooks of others, which were on the model before, are gone."
            raise Wrong(f"hooks-of-others-removed{end}", sentence, gone)
        if new := len(now - self.hooks) + self.left_everywhere:
            count = ["Expected: no new hooks", f"Received: {new}"]
            raise Wrong(f"hooks-left{end}", f"{when}, your hooks are still there and go on recording.", count)
        names = [_own(module) for module in model.modules()]
        if any("forward" in added for added in self._added(names)):
            raise Wrong(f"forward-replaced{end}", f"{when}, a module of the model has another forward method.")
        if [module.training for module in model.modules()] != self.modes:
            before, after = ("training" if mode else "evaluation" for mode in (self.modes[0], not self.modes[0]))
            changed = [f"Expected: {before} mode, as before", f"Received: {after} mode, in parts of the model at least"]
            raise Wrong(f"mode-changed{end}", f"{when}, the model is no longer in {before} mode.", changed)
        if any(self._added(names)):
            added = sorted({name for names in self._added(names) for name in names})
            raise Wrong(f"attribute-left{end}", f"{when}, the model has attributes that it had not: {added[0]}.")
        if [parameter.requires_grad for parameter in model.parameters()] != self.learning:
            sentence = f"{when}, weights of the model cannot be trained any more: requires_grad has changed."
            raise Wrong(f"weights-frozen{end}", sentence)
        if any(parameter.grad is not None for parameter in model.parameters()):
            raise Wrong(f"grads-left{end}", f"{when}, the weights have gradients, which the next step would add to.")
        weights = model.state_dict()
        if weights.keys() != self.weights.keys() or not all(map(_same, weights.values(), self.weights.values())):
            changed = ["Expected: the weights as they were", "Received: others"]
            raise Wrong("wrong-behaviour", f"{when}, weights of the model are others than before.", changed)

    def _added(self, names: list[set[str]]) -> list[set[str]]:
        return [now - before for now, before in zip(names, self.names, strict=True)]
