"""Objects that are not sent by value: the other side gets a key and a proxy, or a copy of a network of the course."""

from collections import deque
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import islice
from types import FunctionType

import torch
from torch import nn

from vit_course.config import ViTConfig
from vit_course.teaching.classroom.apart.modules import (
    RemoteModule,
    RemoteOptimiser,
    as_vit,
    attributes,
    built_vit,
    can_be_copied,
    copy_of,
    is_plain,
    left_behind,
    mirror,
    plain_attributes,
    same,
    set_attributes,
    set_left_behind,
    set_state,
    torch_class,
)
from vit_course.teaching.classroom.apart.serialization import (
    MOST_HASHED,
    MOST_ITEMS,
    Packer,
    Unpacker,
    WireError,
    as_text,
)


class ObjectPacker(Packer):
    """Packs one outgoing message.

    Args:
        session: the session that sends it.
        role: of its tensors that require a gradient, which are collected in `found`: "in" where this side will request
            their gradients, "out" where the other side may request gradients through them, "" for neither.
    """

    def __init__(self, session, role: str = ""):
        super().__init__()
        self._session, self.role = session, role
        self.found: list[torch.Tensor] = []
        self._modules, self._parameters = set(), set()

    def tensor(self, tensor: torch.Tensor) -> dict:
        """As `Packer.tensor`, with the index in `found` of a tensor that requires a gradient."""
        node = super().tensor(tensor)
        return self._numbered(node, tensor) if self.role and tensor.requires_grad else node

    def _numbered(self, node: dict, tensor: torch.Tensor) -> dict:
        self.found.append(tensor)
        return {**node, self.role: len(self.found) - 1}

    def foreign(self, thing) -> dict:
        """The node of an object: its key, and what the other side needs for a proxy or a copy."""
        session = self._session
        if isinstance(thing, nn.Parameter):
            return self._parameter(thing)
        if isinstance(thing, nn.Module):
            theirs = session.keys.get(id(thing), session.side)[0] != session.side
            by_value = None if session.trusted or theirs else as_vit(thing)
            return {"k": "vit", "v": self.pack(by_value)} if by_value else self._module(thing)
        if isinstance(thing, torch.optim.Optimizer) and (session.trusted or isinstance(thing, RemoteOptimiser)):
            groups = [{k: v for k, v in group.items() if k == "params" or is_plain(v)} for group in thing.param_groups]
            return {"k": "optimiser", "id": session.key_of(thing), "name": type(thing).__name__,
                    "groups": self.pack(groups)}  # fmt: skip
        if type(thing) is ViTConfig:
            return {"k": "config", "v": self.pack(dict(vars(thing)))}
        if isinstance(thing, type):
            kind = "module class" if issubclass(thing, nn.Module) else "class"
            return {"k": kind, "id": session.key_of(thing), "name": thing.__name__}
        name = type(thing).__name__
        if not session.trusted and isinstance(thing, Mapping):
            return self.pack(dict(islice(thing.items(), MOST_HASHED + 1)))
        if not session.trusted and not callable(thing) and _one_after_another(thing):
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
            value = {**Packer.tensor(self, torch.empty(0)), "requires_grad": True}
            if self.role == "in":  # the call that is being sent may give it its shape
                value = self._numbered(value, parameter)
            return {**node, "lazy": True, "v": value, "grad": None}
        gradient = parameter.grad
        # A parameter is an input of the results, not one of them.
        value = self.tensor(parameter) if self.role == "in" else Packer.tensor(self, parameter)
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
        if session.trusted and known is None and can_be_copied(type(module)):
            node |= {"class": [type(module).__module__, type(module).__qualname__]}
            node |= {"values": self.pack(attributes(module))}
        elif node["id"][0] == session.side:
            node |= {"values": self.pack(plain_attributes(module))}
        elif not isinstance(module, RemoteModule):
            node |= left_behind(module)
        return node | {
            "training": bool(module.training),
            "parameters": [[name, self.pack(value)] for name, value in module._parameters.items()],
            "buffers": [[name, self._buffer(value)] for name, value in module._buffers.items()],
            "parts": [[name, None if part is None else self._module(part)] for name, part in module._modules.items()],
        }

    def _buffer(self, buffer: torch.Tensor | None) -> dict | None:
        if buffer is None or isinstance(buffer, nn.parameter.UninitializedTensorMixin):
            return None
        moved = self._session.has_moved(buffer)
        return {"k": "buffer", "id": self._session.key_of(buffer), "v": self.pack(buffer), "moved": moved}


class ObjectUnpacker(Unpacker):
    """Unpacks one received message.

    Args:
        session: the session that received it.

    The tensors whose gradients the other side may request are collected in `inputs`, and those through which it can
    be asked for gradients in `outputs`, each under the sender's number.
    """

    def __init__(self, session):
        super().__init__()
        self._session = session
        self.inputs: dict[int, torch.Tensor] = {}
        self.outputs: dict[int, torch.Tensor] = {}

    def tensor(self, node) -> torch.Tensor:
        """As `Unpacker.tensor`, with requires_grad as it was sent; `RemoteCall` connects the tensors in `outputs`."""
        tensor = super().tensor(node)
        if type(node.get("out")) is int:
            tensor = self.outputs[node["out"]] = tensor.data  # not a view, which autograd could not connect
        elif node.get("requires_grad") and (tensor.is_floating_point() or tensor.is_complex()):
            tensor.requires_grad_()
            if type(node.get("in")) is int:
                self.inputs[node["in"]] = tensor
            tensor = tensor if node.get("leaf") else tensor.clone()  # which may be changed in place
        return tensor

    def foreign(self, node: dict):
        """The object of a node, or its proxy."""
        session, kind = self._session, node["k"]
        if kind == "vit":
            return built_vit(self.unpack(node["v"]))
        if kind == "config":
            return ViTConfig(**self.unpack(node["v"]))
        if kind == "items":
            return type(as_text(node["name"])[:80], (_Items,), {})([self.unpack(item) for item in node["v"]])
        state = {
            "parameter": self._parameter,
            "buffer": self._buffer,
            "module": self._module,
            "optimiser": self._optimiser,
        }
        if kind in state:
            return state[kind](node)
        key = str(node["id"])
        found = session.find(key)
        return found if found is not None else session.keep(key, _proxy(session, kind, as_text(node["name"])[:80]))

    def _parameter(self, node: dict) -> nn.Parameter:
        session, key = self._session, str(node["id"])
        parameter = session.find(key, nn.Parameter)
        if "v" in node:
            value = Unpacker.tensor(self, node["v"])
            requires_grad = bool(node["v"].get("requires_grad"))
            if parameter is None:
                made = nn.UninitializedParameter() if "lazy" in node else nn.Parameter(value, requires_grad)
                parameter = session.keep(key, made)
            session.update_tensor(parameter, value, requires_grad, node.get("moved"))
            gradient = None if node["grad"] is None else Unpacker.tensor(self, node["grad"])
            if gradient is None or parameter.grad is None or not same(gradient, parameter.grad):
                parameter.grad = gradient
            if type(node["v"].get("in")) is int:
                self.inputs[node["v"]["in"]] = parameter
        if parameter is None:
            raise WireError("a parameter that this side does not have")
        return parameter

    def _module(self, node: dict) -> nn.Module:
        session, key = self._session, str(node["id"])
        own = key[:1] == session.side
        module = session.find(key, nn.Module)
        copied = "class" in node and not session.trusted
        if module is None:
            module = session.keep(key, copy_of(node) if copied else mirror(session, node))
        if "parts" in node:
            if not own and "values" in node:
                set_attributes(module, self.unpack(node["values"]), copied)
            set_state(module, node, self.unpack, own)
            if own and "hooks" in node:
                set_left_behind(module, node)
        return module

    def _buffer(self, node: dict) -> torch.Tensor:
        # A buffer that the other side has kept is updated in place; one that it has replaced is replaced here too.
        session, key, value = self._session, str(node["id"]), self.unpack(node["v"])
        found = session.find(key, torch.Tensor)
        if found is None:
            found = session.keep(key, value)
        session.update_tensor(found, value, value.requires_grad, node["moved"])
        return found

    def _optimiser(self, node: dict) -> torch.optim.Optimizer:
        found, groups = self._session.find(str(node["id"]), torch.optim.Optimizer), self.unpack(node["groups"])
        if found is None:
            if self._session.trusted:
                raise WireError("an optimiser that this side does not have")
            found = type(as_text(node["name"]), (RemoteOptimiser,), {})(groups, {})
            found._session = self._session
            return self._session.keep(str(node["id"]), found)
        for ours, theirs in zip(found.param_groups, groups, strict=False):
            ours.update({name: value for name, value in theirs.items() if name in ours and is_plain(ours[name])})
        return found


class _Items(Iterable):
    """An iterable over the items of an object of the other process; its class has the name that it had there."""

    def __init__(self, items: list):
        self._items = items

    def __iter__(self):
        return iter(self._items)


def _one_after_another(thing) -> bool:
    return isinstance(thing, (Iterator, KeysView, ValuesView, ItemsView, deque))


def _proxy(session, kind: str, name: str):
    if kind == "function":

        def function(*arguments, **keywords):
            return session.call(function, arguments, keywords)

        function.__name__ = name
        return function

    def called(proxy, *arguments, **keywords):
        return session.call(proxy, arguments, keywords)

    if kind in ("class", "module class"):  # to call it is to build an instance there
        return type(name, (RemoteModule,) if kind == "module class" else (), {"__new__": called})
    return type(name, (), {"__call__": called} if kind == "callable" else {})()
