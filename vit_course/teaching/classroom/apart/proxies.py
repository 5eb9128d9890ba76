"""Objects that do not cross: the other side gets a key and a stand-in, or for the course's own networks a copy."""

from collections.abc import Iterable, Iterator
from itertools import islice
from types import FunctionType

import torch
from torch import nn

from vit_course.config import ViTConfig
from vit_course.teaching.classroom.apart.copies import pickled, unpickled
from vit_course.teaching.classroom.apart.modules import (
    Building,
    RemoteModule,
    RemoteOptimiser,
    as_vit,
    built_vit,
    described,
    mirror,
    portable,
    same,
    take,
    take_hooks,
)
from vit_course.teaching.classroom.apart.serialization import MOST_ITEMS, Packer, Unpacker, WireError


class Sending(Packer):
    """One message on its way out.

    Args:
        session: whose objects these are.
        wanted: whether gradients are to come back for the tensors in it: these are gathered in `inputs`.
        results: whether gradients will be asked for the tensors in it: these are gathered in `outputs`.
    """

    def __init__(self, session, wanted: bool = False, results: bool = False):
        super().__init__(self._of_object)
        self._session, self._wanted, self._results = session, wanted, results
        self.inputs: list[torch.Tensor] = []
        self.outputs: list[torch.Tensor] = []
        self._modules, self._parameters = set(), set()

    def tensor(self, tensor: torch.Tensor) -> dict:
        """See `Packer`; with the place of the tensor among those that have gradients."""
        node = super().tensor(tensor)
        if tensor.requires_grad:
            for gather, name, found in ((self._wanted, "in", self.inputs), (self._results, "out", self.outputs)):
                if gather:
                    node[name] = len(found)
                    found.append(tensor)
        return node

    def gather_no_more(self) -> None:
        """From here on, tensors are state and no results."""
        self._results = False

    def _of_object(self, thing) -> dict:
        session = self._session
        if isinstance(thing, nn.Parameter):
            return self._parameter(thing)
        if isinstance(thing, nn.Module):
            return self._module(thing)
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
            return {**node, "v": {**self.tensor(torch.empty(0)), "wants": True}, "grad": None}
        gradient = parameter.grad
        value = self.tensor(parameter)
        value.pop("out", None)  # the other side knows it: no result, but where results come from
        if self.outputs and self.outputs[-1] is parameter:
            self.outputs.pop()
        return {**node, "v": value, "grad": None if gradient is None else Packer.tensor(self, gradient)}

    def _module(self, module: nn.Module) -> dict:
        session = self._session
        known = session.known_key(module)
        mine = known is None or known[0] == session.side
        if mine and not session.careful and (vit := as_vit(module)):
            return {"k": "vit", "v": self.pack(vit)}
        node = described(module, session.key_of, self.pack, self._modules, mine)
        if mine and session.careful and known is None and portable(module):
            node["pickled"] = len(self.blobs)
            self.blobs.append(pickled(module, Sending(session).pack))
        return node


class Receiving(Unpacker):
    """One message that came in.

    Args:
        blobs: its bytes.
        wanted: whether the other side will ask for gradients of the tensors in it: these are gathered in `inputs`.
    """

    def __init__(self, session, blobs: list, wanted: bool = False):
        super().__init__(blobs, self._object)
        self._session, self._wanted = session, wanted
        self.inputs: dict[int, torch.Tensor] = {}
        self.outputs: dict[int, torch.Tensor] = {}

    def tensor(self, node) -> torch.Tensor:
        """See `Unpacker`; with the gradient that it wants, or has."""
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

    def _object(self, node: dict):
        session, kind = self._session, node["k"]
        if kind == "parameter":
            return self._parameter(node, None)
        if kind == "module":
            return self._module(node, None)
        if kind == "vit":
            return built_vit(self.unpack(node["v"]))
        if kind == "config":
            return ViTConfig(**self.unpack(node["v"]))
        if kind == "items":
            return type(str(node["name"])[:80], (_Items,), {})([self.unpack(item) for item in node["v"]])
        key = str(node["id"])
        found = session.mine.get(key) if key[:1] == session.side else session.theirs.get(key)
        if kind == "optimiser":
            return self._optimiser(node, found)
        if found is not None:
            return found
        if key[:1] == session.side:
            raise WireError("an object that this side does not have")
        return self._known(key, _stand_in(session, kind, str(node["name"])[:80]))

    def _known(self, key: str, thing):
        self._session.theirs[key] = thing
        self._session.keys[thing] = key
        return thing

    def _parameter(self, node: dict, standing) -> nn.Parameter:
        session, key = self._session, str(node["id"])
        own = key[:1] == session.side
        parameter = session.tensors.get(key) if own else session.theirs.get(key)
        if "v" in node:
            value = Unpacker.tensor(self, node["v"])
            wants = bool(node["v"].get("wants"))
            if parameter is None and not own:
                parameter = standing if isinstance(standing, nn.Parameter) else nn.Parameter(value, wants)
                self._known(key, parameter)
            if parameter is not None:
                _set(parameter, value, wants)
                gradient = None if node["grad"] is None else Unpacker.tensor(self, node["grad"])
                if gradient is None or parameter.grad is None or not same(gradient, parameter.grad):
                    parameter.grad = gradient
                if self._wanted and type(node["v"].get("in")) is int:
                    self.inputs[node["v"]["in"]] = parameter
        if parameter is None:
            raise WireError("a parameter that this side does not have")
        return parameter

    def _module(self, node: dict, standing) -> nn.Module:
        session, key = self._session, str(node["id"])
        own = key[:1] == session.side
        module = session.mine.get(key) if own else session.theirs.get(key)
        if module is None:
            if own:
                raise WireError("a module that this side does not have")
            if "pickled" in node and not session.careful:
                module = unpickled(self.blobs[node["pickled"]], Receiving(session, []).unpack)
            elif isinstance(standing, nn.Module) and not session.careful:
                module = standing
            else:
                module = mirror(session, node)
            self._known(key, module)
        if "parts" in node:
            take(module, node, self.unpack, self._part, own)
            if own and session.careful:
                take_hooks(module, node)
        return module

    def _buffer(self, node: dict, standing) -> torch.Tensor:
        # One that the other side has kept is kept here, with its numbers; one that it has replaced is replaced.
        session, key, value = self._session, str(node["id"]), self.unpack(node["v"])
        own = key[:1] == session.side
        found = session.tensors.get(key) if own else session.theirs.get(key)
        if found is None and own:
            raise WireError("a buffer that this side does not have")
        if found is None:
            is_new = not isinstance(standing, torch.Tensor) or session.known_key(standing) is not None
            found = self._known(key, value if is_new else standing)
        _set(found, value, value.requires_grad)
        return found

    def _part(self, node: dict, standing):
        receive = {"parameter": self._parameter, "buffer": self._buffer, "module": self._module}[node["k"]]
        return receive(node, standing)

    def _optimiser(self, node: dict, found):
        groups = self.unpack(node["groups"])
        if found is None:
            if self._session.careful:
                raise WireError("an optimiser that this side does not have")
            found = type(node["name"], (RemoteOptimiser,), {})(groups, {})
            found._session = self._session
            return self._known(node["id"], found)
        for ours, theirs in zip(found.param_groups, groups, strict=False):
            ours.update({name: value for name, value in theirs.items() if name in ours and _plain(ours[name])})
        return found


class _Items(Iterable):
    """What can be gone through once more; its class has the name that it had in the other process."""

    def __init__(self, items: list):
        self._items = items

    def __iter__(self):
        return iter(self._items)


def _one_after_another(thing) -> bool:
    return isinstance(thing, Iterator) or type(thing).__name__ in ("dict_values", "dict_keys", "dict_items", "deque")


def _plain(value) -> bool:
    return value is None or type(value) in (bool, int, float, str)


def _set(parameter: nn.Parameter, value: torch.Tensor, wants: bool) -> None:
    if isinstance(parameter, nn.parameter.UninitializedTensorMixin):
        return  # of a lazy layer that has not run yet
    if not same(parameter.detach(), value):
        if parameter.shape == value.shape and parameter.dtype == value.dtype:
            with torch.no_grad():
                parameter.copy_(value)
        else:
            parameter.data = value
    if parameter.requires_grad != wants:
        parameter.requires_grad_(wants)


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
