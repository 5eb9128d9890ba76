"""What a model, or the one inside a wrapper, states about its images and classes, if a test run confirms it."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import torch
from torch import nn

from vit_course._support.inputs.class_names import names_by_number, names_of_timm
from vit_course._support.inputs.rules import is_int
from vit_course.maps.anatomy import Anatomy, library_of, own, own_config
from vit_course.maps.hooks import HOOKS
from vit_course.maps.module_calls import pictures_in
from vit_course.maps.module_paths import holders, is_inside
from vit_course.maps.run_model import run
from vit_course.maps.trial_run import trial_run

T = TypeVar("T")


class Wrapped:
    """What a model states about the images and the classes that it was made for.

    A model inside another one, as in `nn.DataParallel`, in a compiled model, in one with adapters or in a class of
    one's own, may state this for the whole. But the module around it may change the images, as
    `nn.Sequential(Normalize(...), vit)` does, or the output, as a new head does. So in a test run on a random image
    the model inside must be given exactly the images of the whole; and if its classes are needed, its output must be
    that of the whole. Anything that is not confirmed is None.

    Args:
        model: any ViT.
    """

    def __init__(self, model: nn.Module):
        self.anatomy = Anatomy(model)
        self.name = self.anatomy.name

    @property
    def published(self) -> nn.Module | None:
        """The model of a library, or inside a wrapper, that holds all layers; None if there is none."""
        model = self.anatomy.around[self.anatomy.inside]
        return model if library_of(model) else None

    @cached_property
    def image_size(self) -> tuple[int, int] | None:
        """(H, W) of the images that the model was made for."""
        path, size = self.anatomy.stated_size
        return size if not path or self._takes_images(path) else None

    @cached_property
    def timm_config(self) -> Mapping[str, Any] | None:
        """timm's description of the images that the model was trained on."""
        return self._said(_timm_config, self._takes_images)

    @cached_property
    def checkpoint(self) -> str | None:
        """The name or folder from which Hugging Face's library loaded the model, where its processor is too."""
        return self._said(lambda module: own(module, "name_or_path") or None, self._takes_images)

    @cached_property
    def num_classes(self) -> int | None:
        """How many logits the model gives, if it says that its output are logits."""
        return self._said(_num_classes, self._gives_output)

    @property
    def gives_one_class(self) -> bool:
        """Whether the output are logits of which a softmax makes probabilities.

        Not for several labels at once, nor for regression, as `problem_type` of Hugging Face's models says.
        """
        kinds = [getattr(_hugging_face_config(module), "problem_type", None) for module in self.anatomy.paths]
        return not {"multi_label_classification", "regression"} & {*kinds}

    @property
    def labels(self) -> list[str] | None:
        """The names of the classes of the model of a library; those of the output only if `changes_output` is None.

        Raises:
            ValueError: an `id2label` in which a class is missing.
        """
        return None if self.published is None else _labels(self.published)

    @property
    def changes_images(self) -> str | None:
        """A sentence that says why a library model's statements about its images do not hold, or None if they do."""
        return self._unlike(self._takes_images, "{} does not pass its images unchanged to the {} inside")

    @property
    def changes_output(self) -> str | None:
        """A sentence that says why the classes are not those of the model of a library, or None if they are."""
        return self._unlike(self._gives_output, "the output of {} is not the output of the {} inside")

    def _unlike(self, holds: Callable[[str], bool], why: str) -> str | None:
        # Why what the model of a library says does not hold for the whole, or None.
        if self.published is None:
            models = any(_timm_config(module) or _hugging_face_config(module) for module in self.anatomy.paths)
            return f"no model inside {self.name} holds all its attention layers" if models else None
        inside = self.anatomy.inside
        return None if not inside or holds(inside) else why.format(self.name, type(self.published).__name__)

    def _said(self, ask: Callable[[nn.Module], T | None], holds: Callable[[str], bool]) -> T | None:
        # What the outermost module says that says anything, if it holds for the whole.
        for path, module in self.anatomy.around.items():
            if (said := ask(module)) is not None:
                return said if not path or holds(path) else None
        return None

    @cached_property
    def _test(self) -> "_Heard":
        config = next((found for one in self.anatomy.around.values() if (found := _timm_config(one))), {})
        size = self.anatomy.image_size or tuple(config.get("input_size") or (3, 224, 224))[1:]
        image = torch.randn(1, self.anatomy.channels, *size, generator=torch.Generator().manual_seed(0))
        return _heard(self.anatomy, image)

    def _takes_images(self, path: str) -> bool:
        # Whether the module, or the first part of it that runs, is always given the images of the whole.
        given = [call.images for call in self._test.calls if call.entered(path) and call.images is not None]
        return bool(given) and all(torch.equal(each, self._test.images.to(each)) for each in given)

    def _gives_output(self, path: str) -> bool:
        # Whether the logits of the module are those of the whole.
        outputs = [call.logits for call in self._test.calls if call.path == path and call.logits is not None]
        whole = self._test.logits
        return whole is not None and any(torch.equal(each, whole) for each in outputs if each.shape == whole.shape)


class _Call:
    """A call of a module: its path, those of the modules that it was called in, its images and its logits."""

    def __init__(self, path: str, within: tuple[str, ...], images: torch.Tensor | None):
        self.path, self.within, self.images = path, within, images
        self.logits: torch.Tensor | None = None

    def entered(self, path: str) -> bool:
        # Whether the module at `path`, or a part of it, was called from outside of that module.
        return is_inside(self.path, path) and not any(is_inside(each, path) for each in self.within)


class _Heard(NamedTuple):
    """A test run: its images, the calls of the modules inside, and its logits, None if it could not be run."""

    images: torch.Tensor
    calls: list[_Call]
    logits: torch.Tensor | None


@torch.no_grad()
def _heard(anatomy: Anatomy, image: torch.Tensor) -> _Heard:
    calls: list[_Call] = []
    model = anatomy.model
    like = next(model.parameters(), image)
    images = image.to(like.device, like.dtype)
    last = anatomy.projection or list(anatomy.around)[-1]
    modules = {path: model.get_submodule(path) for path in holders(last)[1:]}
    try:
        with trial_run(model), _overheard(modules, calls):
            logits = _logits(run(model, images.clone()))
    except Exception:  # a foreign model may raise anything, and then nothing is confirmed
        return _Heard(images, [], None)
    return _Heard(images, calls, logits)


@contextmanager
def _overheard(modules: dict[str, nn.Module], calls: list[_Call]) -> Iterator[None]:
    # Replaces `forward` and adds no hooks, because PEFT, for one, calls it directly, and so none of its hooks.
    thread, running = threading.get_ident(), []

    def listening(path: str, forward: Callable) -> Callable:
        def heard(*args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != thread:
                return forward(*args, **kwargs)
            pictures = [x.detach().clone() for x in pictures_in((*args, *kwargs.values()))]
            calls.append(call := _Call(path, tuple(running), next(iter(pictures), None)))
            running.append(path)
            try:
                output = forward(*args, **kwargs)
            finally:
                running.pop()
            call.logits = _logits(output)
            return output

        return heard

    with HOOKS:  # or two threads would put back each other's
        own = []
        try:
            for path, module in modules.items():
                if not isinstance(module, torch.jit.ScriptModule):  # whose forward is not Python's
                    own.append((module, vars(module).get("forward")))
                    module.forward = listening(path, module.forward)  # type: ignore[method-assign]
            yield
        finally:
            for module, forward in own:
                if "forward" in vars(module):
                    del module.forward
                if forward is not None:
                    module.forward = forward


def _logits(output: Any) -> torch.Tensor | None:
    found = output if isinstance(output, torch.Tensor) else getattr(output, "logits", None)
    return found.detach().clone() if isinstance(found, torch.Tensor) and found.ndim == 2 else None


def _timm_config(module: nn.Module) -> Mapping[str, Any] | None:
    config = own(module, "pretrained_cfg")
    return config if isinstance(config, Mapping) and config.get("mean") and config.get("std") else None


def _hugging_face_config(module: nn.Module) -> Any:
    return own(module, "config") if library_of(module) == "transformers" else None


def _num_classes(module: nn.Module) -> int | None:
    config, name = own_config(module), "num_classes"
    if library_of(module) == "transformers" and "Classification" in type(module).__name__:
        name = "num_labels"
    counts = getattr(config, name, None), own(module, name)
    return next((count for count in counts if is_int(count) and count), None)


def _labels(module: nn.Module) -> list[str] | None:
    if id2label := getattr(_hugging_face_config(module), "id2label", None):
        names = names_by_number(id2label, type(module).__name__)
        return None if names[0] == "LABEL_0" else names
    return names_of_timm(module, short=True) if library_of(module) == "timm" else None
