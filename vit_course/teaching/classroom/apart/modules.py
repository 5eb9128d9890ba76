"""Proxies for networks of the other process: the same submodules, with copies of the parameters kept in sync."""

import functools
import importlib
from itertools import islice, zip_longest
from types import NoneType

import torch
from torch import nn

from vit_course.checks.maps.traces import HOOKS, HOOKS_ON_ALL, kept_on
from vit_course.config import ViTConfig
from vit_course.teaching.classroom.apart.serialization import as_text
from vit_course.vit import ViT

MOST_ATTRIBUTES = 100
CHECKS = "vit_course.checks."
_NOTHING = vars(nn.Module())  # what every module has


class RemoteModule(nn.Module):
    """A proxy for a module of the other process: calls run there; submodules and parameters are mirrored here."""

    def forward(self, *arguments, **keywords):
        """Runs the module in the other process and returns its output."""
        return self._session.call(self, arguments, keywords)

    def __deepcopy__(self, memo):
        return self._session.call(self, (), {}, method="copy")

    def __reduce_ex__(self, protocol):
        raise TypeError("a module of another process cannot be pickled")


class RemoteOptimiser(torch.optim.Optimizer):
    """A proxy for an optimiser of the other process: it steps there, with the gradients of the parameters here."""

    def step(self, closure=None):
        """Takes one step in the other process and copies the updated parameters back."""
        with torch.enable_grad():
            loss = closure() if closure else None
        self._session.call(self, (), {}, method="step")
        return loss


def mirror(session, node: dict) -> RemoteModule:
    """A proxy with the class name and the PyTorch base class of the node, without parts and parameters."""
    base = getattr(nn, str(node.get("base")), None)
    known = isinstance(base, type) and issubclass(base, nn.Module) and base is not nn.Module
    module = _empty(type(as_text(node["name"])[:80], (RemoteModule, base) if known else (RemoteModule,), {}))
    module._session = session
    return module


def copy_of(node: dict) -> nn.Module:
    """A module of the node's class, without attributes, parts and parameters; in the learner's process alone."""
    place, name = node["class"]
    return _empty(functools.reduce(getattr, name.split("."), importlib.import_module(place)))


def _empty(kind: type) -> nn.Module:
    module = object.__new__(kind)
    nn.Module.__init__(module)
    return module


def attributes(module: nn.Module) -> dict:
    """What makes a copy of a module, apart from its tensors and parts: all that its methods may look at."""
    return {
        name: value
        for name, value in vars(module).items()
        if name not in ("training", "_parameters", "_buffers", "_modules")
        and not (name in _NOTHING and value == _NOTHING[name])
    }


def plain_attributes(module: nn.Module) -> dict:
    """The attributes that a check may read on a proxy, such as the epsilon of a norm and the rate of a dropout."""

    def is_shown(name: str, value) -> bool:
        few = value if type(value) is tuple and len(value) < 10 else (value,)
        return name[:1] != "_" and name != "training" and all(map(is_plain, few))

    return dict(islice((item for item in vars(module).items() if is_shown(*item)), MOST_ATTRIBUTES))


def is_plain(value) -> bool:
    """Whether a value is None, a number or a text."""
    return value is None or type(value) in (bool, int, float, str)


def set_attributes(module: nn.Module, values: dict, every: bool) -> None:
    """Gives a module plain attributes that hide nothing of its class; a copy, where `every` is True, all of them."""
    for name, value in values.items():
        there = vars(module).get(name)
        if every and isinstance(there, (dict, set)):  # such as its hooks
            there.update(value)
        elif every or (name.isidentifier() and name[0] != "_" and (name in vars(module) or not hasattr(module, name))):
            vars(module)[name] = value


def set_state(module: nn.Module, node: dict, receive, own: bool) -> None:
    """Gives a module the state that the node describes.

    Args:
        module: to change.
        node: as `proxies.ObjectPacker` makes it.
        receive: node of a submodule, parameter or buffer -> the object.
        own: whether the module lives in this process; if so, the other side may change its numbers and mode, but
            cannot remove parts, and one that it has added becomes something empty.
    """
    module.training = bool(node["training"])
    tables = {
        "parameters": (module._parameters, nn.Parameter, lambda: nn.Parameter(torch.empty(0))),
        "buffers": (module._buffers, torch.Tensor, lambda: torch.empty(0)),
        "parts": (module._modules, nn.Module, nn.Identity),
    }
    # What the learner's code added gets an empty stand-in here; without one, the next message would delete it there.
    for what, (table, kind, empty) in tables.items():
        nodes = {as_text(name): child for name, child in node[what]}
        for name, child in nodes.items():
            if own and name not in table:
                table[name] = _stand_in(empty())
            if own and (_is_stand_in(table[name]) or table[name] is None or child is None):
                continue
            value = None if child is None else receive(child)
            if not isinstance(value, (kind, NoneType)):
                raise TypeError(f"a {type(value).__name__} among the {what}")
            table[name] = value
        for name in [name for name in table if name not in nodes and (not own or _is_stand_in(table[name]))]:
            del table[name]


def left_behind(module: nn.Module) -> dict:
    """What a learner's code may have left on its copy of a check's module: ids of hooks, names of attributes."""
    tables = [getattr(module, kind) for kind in HOOKS]
    hooks = [[*here, *everywhere] for here, everywhere in zip_longest(tables, HOOKS_ON_ALL, fillvalue=())]
    return {"hooks": hooks, "left": sorted(kept_on(module))}


def set_left_behind(module: nn.Module, node: dict) -> None:
    """Puts on the check's module a stand-in for each hook and attribute that the learner's code left on its copy.

    Hooks that were removed there are removed here, and stand-ins for what is no longer there.
    """
    for table, there in zip([getattr(module, kind) for kind in HOOKS], node["hooks"], strict=True):
        for key in [key for key in table if key not in there]:
            del table[key]
        for key in there[:MOST_ATTRIBUTES]:
            if type(key) is int and key not in table:
                table[key] = lambda *_: None
    left = set(node["left"][:MOST_ATTRIBUTES])
    for name in [name for name, value in vars(module).items() if _is_stand_in(value) and name not in left]:
        del vars(module)[name]
    for name in left - kept_on(module):
        vars(module)[as_text(name)] = _stand_in(functools.partial(type(module).forward, module))


def _stand_in(thing):
    # Marks what is on a check's module because a learner's code has put something there on its copy.
    thing.is_stand_in = True
    return thing


def _is_stand_in(thing) -> bool:
    return getattr(thing, "is_stand_in", False) is True


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have the same shape, dtype and numbers; NaN equals nothing."""
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)


def can_be_copied(kind: type) -> bool:
    """Whether the learner's process can import this class, and it reveals no code of a check."""
    if kind.__module__.startswith(CHECKS):
        return kind.forward is nn.Module.forward and "<locals>" not in kind.__qualname__
    return kind.__module__.startswith(("torch.nn.", "vit_course."))


def as_vit(module: nn.Module) -> dict | None:
    """The config and state of an unmodified `ViT`; None for any other module, and for a `ViT` that was changed."""
    if type(module) is not ViT:
        return None
    with torch.device("meta"):
        fresh = ViT(module.config)
    ours, theirs = fresh.state_dict(), module.state_dict()
    alike = ours.keys() == theirs.keys() and all(ours[key].shape == theirs[key].shape for key in ours)
    if not alike or [*map(_made_of, fresh.modules())] != [*map(_made_of, module.modules())]:
        return None
    return {
        "config": vars(module.config),
        "state": dict(theirs),
        "modes": [one.training for one in module.modules()],
        "learning": [one.requires_grad for one in module.parameters()],
    }


def built_vit(values: dict) -> ViT:
    """The `ViT` from the values of `as_vit`. Sizes are compared first, so that a false config costs nothing."""
    if any(value.device.type != "cpu" for value in values["state"].values()):
        raise ValueError("the weights of a ViT have no numbers")
    config = ViTConfig(**values["config"])
    if config.num_layers > len(values["state"]):
        raise ValueError("a ViT has fewer tensors than layers")
    with torch.device("meta"):
        sizes = {name: value.shape for name, value in ViT(config).state_dict().items()}
    if sizes != {name: value.shape for name, value in values["state"].items()}:
        raise ValueError("the state of a ViT is not what its config says")
    model = ViT(config)
    model.load_state_dict(values["state"], assign=True)  # whose dtype it keeps
    for module, training in zip(model.modules(), values["modes"], strict=True):
        module.training = bool(training)
    for parameter, learns in zip(model.parameters(), values["learning"], strict=True):
        parameter.requires_grad_(bool(learns))
    return model


def _made_of(part: nn.Module) -> tuple:
    return type(part), "forward" in vars(part), bool(part._forward_hooks or part._forward_pre_hooks)


def torch_class(module: nn.Module) -> str | None:
    """The name of the PyTorch class that a module's class is derived from, such as LayerNorm."""
    return next((kind.__name__ for kind in type(module).__mro__ if vars(nn).get(kind.__name__) is kind), None)
