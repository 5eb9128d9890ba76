"""Objects that are not sent by value: the other side gets a key and a proxy, or a copy of a network of the course."""

from collections import deque
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import islice
from types import FunctionType

import torch
from torch import nn

from vit_course.config import ViTConfig
from vit_course.teaching.classroom.apart.modules import (
    Building,
    RemoteModule,
    RemoteOptimiser,
    as_vit,
    attributes,
    built_vit,
    copy_of,
    give,
    is_public,
    mirror,
    plain_attributes,
    same,
    take,
    take_traces,
    torch_class,
    traces,
)
from vit_course.teaching.classroom.apart.serialization import MOST_HASHED, MOST_ITEMS, Packer, Unpacker, WireError


class Sending(Packer):
    """Packs one outgoing message.

    Args:
        session: the session that sends it.
        wanted: whether this side will need gradients of its tensors; those tensors are collected in `inputs`.
        results: whether the other side may request gradients through its tensors, collected in `outputs`.
    """

    def __init__(self, session, wanted: bool = False, results: bool = False):
        super().__init__()
        self._session, self._wanted, self._results = session, wanted, results
        self.inputs: list[torch.Tensor] = []
        self.outputs: list[torch.Tensor] = []
        self._modules, self._parameters = set(), set()

    def tensor(self, tensor: torch.Tensor) -> dict:
        """As `Packer.tensor`, with the index in `inputs` or `outputs` of a tensor that requires a gradient."""
        node = super().tensor(tensor)
        if tensor.requires_grad:
            for gather, name, found in ((self._wanted, "in", self.inputs), (self._results, "out", self.outputs)):
                if gather:
                    node[name] = len(found)
                    found.append(tensor)
        return node

    def gather_no_more(self) -> None:
        """Stops collecting `outputs`: the tensors packed from here on are state, not results."""
        self._results = False

    def foreign(self, thing) -> dict:
        """The node of an object: its key, and what the other side needs for a proxy or a copy."""
        session = self._session
        if isinstance(thing, nn.Parameter):
            return self._parameter(thing)
        if isinstance(thing, nn.Module):
            theirs = session.keys.get(id(thing), session.side)[0] != session.side
            by_value = None if session.careful or theirs else as_vit(thing)
            return {"k": "vit", "v": self.pack(by_value)} if by_value else self._module(thing)
        if isinstance(thing, torch.optim.Optimizer) and (session.careful or isinstance(thing, RemoteOptimiser)):
            groups = [{k: v for k, v in group.items() if k == "params" or _plain(v)} for group in thing.param_groups]
            return {"k": "optimiser", "id": session.key_of(thing), "name": type(thing).__name__,
                    "groups": self.pack(groups)}  # fmt: skip
        if type(thing) is ViTConfig:
            return {"k": "config", "v": self.pack(dict(vars(thing)))}
        if isinstance(thing, type):
            kind = "module class" if issubclass(thing, nn.Module) else "class"
            return {"k": kind, "id": session.key_of(thing), "name": thing.__name__}
        name = type(thing).__name__
        if not session.careful and isinstance(thing, Mapping):
            return self.pack(dict(islice(thing.items(), MOST_HASHED + 1)))
        if not session.careful and not callable(thing) and _one_after_another(thing):
            return {"k": "items", "name": name, "v": [self.pack(item) for item in islice(iter(thing), MOST_ITEMS)]}
        if isinstance(thing, FunctionType):
            return {"k": "function", "id": session.key_of(thing), "name": thing.__name__}
        return {"k": "callable" if callable(thing) else "thing", "id": session.key_of(thing), "name": name}

    def _parameter(self, parameter: nn.Parameter) -> dict:
        node = {"k": "parameter", "id": self._session.key_of(parameter)}
        if id(parameter) in self._parameters:
            return node
        self._parameters.add(id(parameter))
        if isinstance(parameter, nn.parameter.UninitializedTensorMixin):
            value = {**Packer.tensor(self, torch.empty(0)), "wants": True}
            if self._wanted:  # the call that is being sent may give it its shape
                value["in"] = len(self.inputs)
                self.inputs.append(parameter)
            return {**node, "lazy": True, "v": value, "grad": None}
        gradient = parameter.grad
        value = self.tensor(parameter)
        value.pop("out", None)  # a parameter is an input of the results, not one of them
        if self.outputs and self.outputs[-1] is parameter:
            self.outputs.pop()
        gradient = None if gradient is None else Packer.tensor(self, gradient)
        return {**node, "v": value, "grad": gradient, "moved": self._session.has_moved(parameter)}

    def _module(self, module: nn.Module) -> dict:
        # A node, or the key alone where the message holds the module already.
        session = self._session
        known = session.keys.get(id(module))
        node = {"k": "module", "id": session.key_of(module)}
        if id(module) in self._modules:
            return node
        self._modules.add(id(module))
        node |= {"name": type(module).__name__, "base": torch_class(module)}
        if session.careful and known is None and is_public(type(module)):
            node |= {"class": [type(module).__module__, type(module).__qualname__]}
            node |= {"values": self.pack(attributes(module))}
        elif node["id"][0] == session.side:
            node |= {"values": self.pack(plain_attributes(module))}
        elif not isinstance(module, RemoteModule):
            node |= traces(module)
        return node | {
            "training": bool(module.training),
            "parameters": [[name, self.pack(value)] for name, value in module._parameters.items()],
            "buffers": [[name, self._buffer(value)] for name, value in module._buffers.items()],
            "parts": [[name, None if part is None else self._module(part)] for name, part in module._modules.items()],
        }

    def _buffer(self, buffer: torch.Tensor | None) -> dict | None:
        if buffer is None:
            return None
        moved = self._session.has_moved(buffer)
        return {"k": "buffer", "id": self._session.key_of(buffer), "v": self.pack(buffer), "moved": moved}


class Receiving(Unpacker):
    """Unpacks one received message.

    Args:
        session: the session that received it.
        wanted: whether the other side may request gradients of its tensors; those are collected in `inputs`.
    """

    def __init__(self, session, wanted: bool = False):
        super().__init__()
        self._session, self._wanted = session, wanted
        self.inputs: dict[int, torch.Tensor] = {}
        self.outputs: dict[int, torch.Tensor] = {}

    def tensor(self, node) -> torch.Tensor:
        """As `Unpacker.tensor`, with requires_grad as it was sent, or the connected tensor from `outputs`."""
        if node.get("out") in self.outputs:
            return self.outputs[node["out"]]
        tensor = super().tensor(node)
        if node.get("wants") and "out" not in node and (tensor.is_floating_point() or tensor.is_complex()):
            tensor.requires_grad_()
            if self._wanted and type(node.get("in")) is int:
                self.inputs[node["in"]] = tensor
        return tensor

    def results(self, node) -> Iterator[dict]:
        """The nodes of all tensors in a node."""
        if isinstance(node, list):
            for item in node:
                yield from self.results(item)
        elif isinstance(node, dict):
            if node.get("k") == "tensor":
                yield node
            for item in node.values():
                yield from self.results(item)

    def foreign(self, node: dict):
        """The object of a node, or its proxy."""
        session, kind = self._session, node["k"]
        if kind == "parameter":
            return self._parameter(node)
        if kind == "buffer":
            return self._buffer(node)
        if kind == "module":
            return self._module(node)
        if kind == "vit":
            return built_vit(self.unpack(node["v"]))
        if kind == "config":
            return ViTConfig(**self.unpack(node["v"]))
        if kind == "items":
            return type(str(node["name"])[:80], (_Items,), {})([self.unpack(item) for item in node["v"]])
        key = str(node["id"])
        found = session.find(key)
        if kind == "optimiser":
            return self._optimiser(node, found)
        return found if found is not None else session.keep(key, _stand_in(session, kind, str(node["name"])[:80]))

    def _parameter(self, node: dict) -> nn.Parameter:
        session, key = self._session, str(node["id"])
        parameter = session.find(key)
        if "v" in node:
            value = Unpacker.tensor(self, node["v"])
            wants = bool(node["v"].get("wants"))
            if parameter is None:
                made = nn.UninitializedParameter() if "lazy" in node else nn.Parameter(value, wants)
                parameter = session.keep(key, made)
            session.set(parameter, value, wants, node.get("moved"))
            gradient = None if node["grad"] is None else Unpacker.tensor(self, node["grad"])
            if gradient is None or parameter.grad is None or not same(gradient, parameter.grad):
                parameter.grad = gradient
            if self._wanted and type(node["v"].get("in")) is int:
                self.inputs[node["v"]["in"]] = parameter
        if parameter is None:
            raise WireError("a parameter that this side does not have")
        return parameter

    def _module(self, node: dict) -> nn.Module:
        session, key = self._session, str(node["id"])
        own = key[:1] == session.side
        module = session.find(key)
        copied = "class" in node and not session.careful
        if module is None:
            module = session.keep(key, copy_of(node) if copied else mirror(session, node))
        if "parts" in node:
            if not own and "values" in node:
                give(module, self.unpack(node["values"]), copied)
            take(module, node, self.unpack, own)
            if own and "hooks" in node:
                take_traces(module, node)
        return module

    def _buffer(self, node: dict) -> torch.Tensor:
        # A buffer that the other side has kept is updated in place; one that it has replaced is replaced here too.
        session, key, value = self._session, str(node["id"]), self.unpack(node["v"])
        found = session.find(key)
        if found is None:
            found = session.keep(key, value)
        session.set(found, value, value.requires_grad, node["moved"])
        return found

    def _optimiser(self, node: dict, found):
        groups = self.unpack(node["groups"])
        if found is None:
            if self._session.careful:
                raise WireError("an optimiser that this side does not have")
            found = type(node["name"], (RemoteOptimiser,), {})(groups, {})
            found._session = self._session
            return self._session.keep(str(node["id"]), found)
        for ours, theirs in zip(found.param_groups, groups, strict=False):
            ours.update({name: value for name, value in theirs.items() if name in ours and _plain(ours[name])})
        return found


class _Items(Iterable):
    """An iterable over the items of an object of the other process; its class has the name that it had there."""

    def __init__(self, items: list):
        self._items = items

    def __iter__(self):
        return iter(self._items)


def _one_after_another(thing) -> bool:
    return isinstance(thing, (Iterator, KeysView, ValuesView, ItemsView, deque))


def _plain(value) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _stand_in(session, kind: str, name: str):
    if kind == "function":

        def function(*arguments, **keywords):
            return session.call(function, arguments, keywords)

        function.__name__ = name
        return function
    if kind in ("class", "module class"):
        bases = (RemoteModule,) if kind == "module class" else ()
        return Building(name, bases, {"_session": session})
    called = {"__call__": lambda self, *arguments, **keywords: session.call(self, arguments, keywords)}
    return type(name, (), called if kind == "callable" else {})()
