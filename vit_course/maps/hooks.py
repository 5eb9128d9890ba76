"""Hooks on the modules of a model, which are gone at the end of a with block and do nothing in a copy of the model."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

# Held while hooks are registered or removed: PyTorch numbers them with a global counter that is not thread-safe.
HOOK_LOCK = threading.RLock()
# The method that registers a hook, such as `module.register_forward_hook`; the hook; and further arguments.
HookSpec = tuple[Callable, Callable, dict]


class Hook:
    """Calls a function. `deepcopy` and `pickle` turn it into one that does nothing: nobody could remove that."""

    def __init__(self, function: Callable):
        self.function = function

    def __call__(self, *given):
        return self.function(*given)

    def __reduce__(self):
        return _inert, ()


@contextmanager
def hooked(hooks: Iterable[HookSpec]) -> Iterator[None]:
    """Registers the hooks, and removes them at the end of the with block."""
    with HOOK_LOCK:
        handles = [register(Hook(function), **options) for register, function, options in hooks]
    try:
        yield
    finally:
        with HOOK_LOCK:
            for handle in handles:
                handle.remove()


def _inert() -> Callable:
    return _nothing


def _nothing(*_) -> None:
    pass
