"""Generates other forms of a right answer, which a check must accept too.

Forms that are written by hand (einsum, loops, einops and others) are in tests/answers.
"""

import functools
from collections.abc import Callable, Iterator

import torch
from torch import nn

# The functions from tensors to a tensor, and the indices of their arguments with a batch axis.
BATCHED = {
    "start.as_batch": (),
    "patchify.video": (0,),
    "class_token.padded": (0, 1),
    "positions.mended": (0,),
    "positions.sincos": (),
    "attention.weights": (0, 1, 2),
    "attention.mended": (0,),
    "maps.class_map": (0,),
    "maps.rollout": (),
    "evidence.score": (0, 1),
    "evidence.held_out": (),
    "pretrained.jax": (),
    "without_labels.hidden_loss": (),
    "without_labels.targets": (),
    "further.gradient": (),
    "further.rotary": (0,),
}
# The modules whose stub fixes the names of their parameters.
NAMED = {"capstone.attention", "capstone.block", "capstone.vit", "vit.mended"}


def rewritings(name: str, answer: Callable) -> Iterator[tuple[str, Callable]]:
    """Yields (the name of the form, the answer in that form)."""
    if isinstance(answer, type):
        if name not in NAMED:
            yield "inside another module", _outer(answer)
        yield "image by image", _module(answer, lambda inner, x: torch.cat([inner(one) for one in x.split(1)]))
        yield "in double precision", _module(answer, _in_double)
        yield "made by a function", lambda *sizes, **named: answer(*sizes, **named)
        yield "a partial of a class with an option", functools.partial(_with_option(answer), option=1)
        return
    yield "an object that is called", _Called(answer)
    if name not in BATCHED:
        return
    yield "in double precision", lambda *given: _doubled(answer, given)
    yield "as a view of more", lambda *given: torch.stack([answer(*given)] * 2, dim=-1)[..., 0]
    if BATCHED[name]:
        yield "image by image", lambda *given: _one_by_one(answer, given, BATCHED[name])


class _Called:
    def __init__(self, answer: Callable):
        self.answer = answer

    def __call__(self, *given):
        return self.answer(*given)


def _module(answer: type, compute: Callable) -> type:
    class Rewritten(answer):
        entered = False

        def forward(self, x):
            if self.entered:
                return super().forward(x)
            self.entered = True
            try:
                return compute(self, x)
            finally:
                self.entered = False

    return Rewritten


def _outer(answer: type) -> type:
    class Outer(nn.Module):
        def __init__(self, *sizes, **named):
            super().__init__()
            self.inner = answer(*sizes, **named)

        def forward(self, x):
            return self.inner(x)

    return Outer


def _with_option(answer: type) -> type:
    class WithOption(answer):
        def __init__(self, *sizes, option, **named):
            super().__init__(*sizes, **named)
            self.option = option

    return WithOption


def _in_double(inner: nn.Module, x: torch.Tensor) -> torch.Tensor:
    wide = {key: value.double() for key, value in inner.named_parameters()}
    return torch.func.functional_call(inner, wide, x.double()).float()


def _doubled(answer: Callable, given: tuple) -> torch.Tensor:
    # Tensors that the answer itself creates are in double precision too.
    torch.set_default_dtype(torch.float64)
    try:
        floats = (isinstance(one, torch.Tensor) and one.is_floating_point() for one in given)
        kind = next((one.dtype for one in given if isinstance(one, torch.Tensor)), torch.float32)
        return answer(*(one.double() if wide else one for one, wide in zip(given, floats, strict=True))).to(kind)
    finally:
        torch.set_default_dtype(torch.float32)


def _one_by_one(answer: Callable, given: tuple, batched: tuple) -> torch.Tensor:
    parts = []
    for image in range(len(given[0])):
        parts.append(answer(*(one[image : image + 1] if i in batched else one for i, one in enumerate(given))))
    return torch.cat(parts)
