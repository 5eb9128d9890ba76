"""Proxies for networks of the other process: the same submodules, with copies of the parameters kept in sync."""

import importlib

import torch
from torch import nn

from vit_course.config import ViTConfig
from vit_course.vit import ViT

MOST_ATTRIBUTES = 100
CHECKS = "vit_course.checks."


class RemoteModule(nn.Module):
    """A proxy for a module of the other process: calls run there; submodules and parameters are mirrored here."""

    def forward(self, *arguments, **keywords):
        """Runs the module in the other process and returns its output."""
        return self._session.call(self, arguments, keywords)

    def __deepcopy__(self, memo):
        return self._session.call(self, (), {}, method="copy")

    def __reduce_ex__(self, protocol):
        raise TypeError("a module of another process cannot be pickled")


class Building(type(nn.Module)):
    """The metaclass of a proxy for a class of the other process: calling the class builds an instance there."""

    def __call__(cls, *arguments, **keywords):
        return cls._session.call(cls, arguments, keywords)


class RemoteOptimiser(torch.optim.Optimizer):
    """A proxy for an optimiser of the other process: it steps there, with the gradients of the parameters here."""

    def step(self, closure=None):
        """Takes one step in the other process and copies the updated parameters back."""
        with torch.enable_grad():
            loss = closure() if closure else None
        self._session.call(self, (), {}, method="step")
        return loss


def mirror(session, node: dict) -> RemoteModule:
    """An empty proxy with the class name and the PyTorch base class of the node; `take` fills it."""
    base = getattr(nn, str(node.get("base")), None)
    known = isinstance(base, type) and issubclass(base, nn.Module) and base is not nn.Module
    module = object.__new__(type(str(node["name"])[:80], (RemoteModule, base) if known else (RemoteModule,), {}))
    nn.Module.__init__(module)
    module._session = session
    return module


def described(module: nn.Module, key_of, pack, seen: set, mine: bool) -> dict:
    """The node of a module: its state, and for a module of this process also its plain attributes.

    Args:
        module: to describe.
        key_of: object -> the key by which both sides know it.
        pack: value -> node.
        seen: ids of the modules that are already in the message.
        mine: whether it lives in this process.
    """
    key = key_of(module)
    if id(module) in seen:
        return {"k": "module", "id": key}
    seen.add(id(module))
    parts = [
        [name, None if part is None else described(part, key_of, pack, seen, mine)]
        for name, part in module._modules.items()
    ]
    return {
        "k": "module",
        "id": key,
        "name": type(module).__name__,
        "base": _torch_class(module),
        "training": bool(module.training),
        "parameters": [[name, pack(value)] for name, value in module._parameters.items()],
        "buffers": [
            [name, None if value is None else {"k": "buffer", "id": key_of(value), "v": pack(value)}]
            for name, value in module._buffers.items()
        ],
        "parts": parts,
        "values": _plain_attributes(module, pack) if mine else [],
        "hooks": [list(module._forward_hooks), list(module._forward_pre_hooks)],
        "replaced": "forward" in vars(module),
    }


def take(module: nn.Module, node: dict, unpack, receive, own: bool) -> None:
    """Gives a module the state that the node describes.

    Args:
        module: to change.
        node: see `described`.
        unpack: node -> value.
        receive: (node of a submodule, parameter or buffer; the object there now) -> the object to put there.
        own: whether the module lives in this process; if so, the other side may change its numbers and mode, but
            cannot add or remove parts.
    """
    module.training = bool(node["training"])
    if not own:
        for name, value in node["values"]:
            if str(name).isidentifier() and name[0] != "_" and not hasattr(module, name):
                vars(module)[name] = unpack(value)
    tables = {"parameters": module._parameters, "buffers": module._buffers, "parts": module._modules}
    for kind, table in tables.items():
        nodes = {str(name): child for name, child in node[kind]}
        for name, child in nodes.items():
            if own and (name not in table or table[name] is None or child is None):
                continue
            table[name] = child and receive(child, table.get(name))
        for name in [] if own else [name for name in table if name not in nodes]:
            del table[name]


def take_hooks(module: nn.Module, node: dict) -> None:
    """Gives a module the same hooks, by id, as the other side's copy has.

    A hook that exists only there becomes an empty hook here; a hook that was removed there is removed here.
    """
    for table, there in zip((module._forward_hooks, module._forward_pre_hooks), node["hooks"], strict=True):
        for key in [key for key in table if key not in there]:
            del table[key]
        for key in there[:MOST_ATTRIBUTES]:
            if type(key) is int and key not in table:
                table[key] = lambda *_: None
    if node["replaced"] and "forward" not in vars(module):
        vars(module)["forward"] = module.forward


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors have the same shape, dtype and numbers; NaN equals nothing."""
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(a, b)


def portable(module: nn.Module) -> bool:
    """Whether the learner's process gets a copy: all parts are of PyTorch or the course, none has a check's forward."""
    return all(_is_public(type(part)) for part in module.modules())


def _is_public(kind: type) -> bool:
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
    return {"config": vars(module.config), "state": dict(theirs), "training": module.training}


def built_vit(values: dict) -> ViT:
    """The `ViT` from the values of `as_vit`. Sizes are compared first, so that a false config costs nothing."""
    config = ViTConfig(**values["config"])
    if config.num_layers > len(values["state"]):
        raise ValueError("a ViT has fewer tensors than layers")
    with torch.device("meta"):
        sizes = {name: value.shape for name, value in ViT(config).state_dict().items()}
    if sizes != {name: value.shape for name, value in values["state"].items()}:
        raise ValueError("the state of a ViT is not what its config says")
    model = ViT(config)
    model.load_state_dict(values["state"])
    return model.train(bool(values["training"]))


def _made_of(part: nn.Module) -> tuple:
    return type(part), "forward" in vars(part), bool(part._forward_hooks or part._forward_pre_hooks)


def _torch_class(module: nn.Module) -> str | None:
    kinds = (kind for kind in type(module).__mro__ if kind is not nn.Module)
    return next((kind.__name__ for kind in kinds if vars(nn).get(kind.__name__) is kind), None)


def _plain_attributes(module: nn.Module, pack) -> list:
    # Such as the epsilon of a norm and the rate of a dropout, which a check may look at.
    def is_plain(value) -> bool:
        return value is None or type(value) in (bool, int, float, str) or (
            type(value) is tuple and len(value) < 10 and all(type(item) in (bool, int, float) for item in value)
        )  # fmt: skip

    found = [(name, value) for name, value in vars(module).items() if name[:1] != "_" and name != "training"]
    return [[name, pack(value)] for name, value in found if is_plain(value)][:MOST_ATTRIBUTES]


def importable(value) -> bool:
    """Whether a function or class is found under its own name in its module."""
    found = importlib.import_module(value.__module__) if value.__module__ else None
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value
