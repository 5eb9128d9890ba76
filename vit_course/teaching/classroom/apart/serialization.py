"""The message format between two processes that do not trust each other: numbers, text, containers and tensors.

A message is a safetensors file: its tensors, and a JSON tree as the bytes of one more. Nothing in it is ever executed.
An instance of a subclass, such as a number with its own == or a tensor that overrides functions, arrives as a plain
number or tensor. Limits bound the time for any message, even a forged one: few bytes of JSON, each tensor used once,
small sets and dicts (hashes can be made to collide).
"""

import json
from fractions import Fraction

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError

MOST_JSON, MOST_BYTES = 2**21, 2**28  # bytes of JSON, and of all of a message
MOST_ITEMS, MOST_HASHED, MOST_HASHED_IN_ALL = 10**5, 500, 20_000  # in one container, a set or dict, and all of those
MOST_TEXT = 2**26  # bytes of one text
MOST_DEPTH, MOST_AXES = 100, 64
LONG = 500  # characters; a longer text is sent as a tensor of bytes
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32,
        torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
    )
}  # fmt: skip
CONTAINERS = {"size": torch.Size, "list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


class WireError(Exception):
    """A message that breaks the format."""


def _bytes_of(text: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(text), dtype=torch.uint8)


def write_message(stream, tree) -> None:
    """Writes one message, a tree of nodes as `Packer` makes them: its length in 8 bytes, then the safetensors file."""
    tensors = {}

    def name_of(tensor: torch.Tensor) -> str:
        tensors[name := str(len(tensors))] = tensor
        return name

    try:
        text = json.dumps(tree, default=name_of, separators=(",", ":")).encode()
    except ValueError as error:  # a number of thousands of digits
        raise WireError(str(error)) from None
    data = safetensors.torch.save({"tree": _bytes_of(text), **tensors})
    if len(text) > MOST_JSON or len(data) > MOST_BYTES or int.from_bytes(data[:8], "little") > MOST_JSON:
        raise WireError("a message is too long")
    stream.write(len(data).to_bytes(8, "little"))
    stream.write(data)
    stream.flush()


def read_message(stream):
    """-> the tree of the next message.

    Raises:
        EOFError: the other side is gone.
        WireError: the message is too long or not valid.
    """
    length = int.from_bytes(_exactly(stream, 8), "little")
    if length > MOST_BYTES:
        raise WireError("a message is too long")
    data = _exactly(stream, length)
    try:
        # A safetensors file begins with the length of its own JSON.
        if int.from_bytes(data[:8], "little") > MOST_JSON:
            raise ValueError("too long")
        tensors = safetensors.torch.load(data)
        text = tensors.pop("tree").numpy().tobytes()
        if len(text) > MOST_JSON:
            raise ValueError("too long")

        def with_tensor(node: dict) -> dict:
            # Each tensor is used once: many values of the same numbers would fill the memory.
            if "numbers" in node:
                node["numbers"] = tensors.pop(node["numbers"])
            return node

        return json.loads(text, object_hook=with_tensor)
    except (SafetensorError, LookupError, ValueError, TypeError, RuntimeError, AssertionError) as error:
        raise WireError(f"not a message: {type(error).__name__}: {error}"[:500]) from None


def _exactly(stream, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


class Packer:
    """Turns values into nodes of the JSON tree; a subclass may override `foreign`."""

    def __init__(self):
        self.size = 0  # bytes of its tensors
        self._inside: list[int] = []

    def pack(self, value):
        """The node of one value."""
        if value is None or value is True or value is False:
            return value
        kind = type(value)
        if issubclass(kind, int) and not issubclass(kind, bool):
            return int.__int__(value)
        if issubclass(kind, float) and not issubclass(kind, np.generic):
            return float.__float__(value)
        if issubclass(kind, str):
            text = str.__str__(value).encode("utf-8", "replace")
            if len(text) <= LONG:
                return text.decode()
            return {"k": "text", "numbers": _bytes_of(text)}
        if issubclass(kind, torch.Tensor):
            return self.foreign(value) if isinstance(value, torch.nn.Parameter) else self.tensor(value)
        if issubclass(kind, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
            # In the byte order of this machine.
            node = self.tensor(torch.from_numpy(np.array(value).astype(f"{value.dtype.kind}{value.dtype.itemsize}")))
            return {**node, "k": "array" if issubclass(kind, np.ndarray) else "number"}
        if kind is Fraction:
            return {"k": "fraction", "v": [value.numerator, value.denominator]}
        if kind is torch.dtype:
            return {"k": "dtype", "v": str(value).removeprefix("torch.")}
        if kind is range and len(value) <= MOST_ITEMS:
            return {"k": "range", "v": [value.start, value.stop, value.step]}
        return self._container(value) if issubclass(kind, (dict, list, tuple, set, frozenset)) else self.foreign(value)

    def foreign(self, thing) -> dict:
        """The node of an object that is neither a number, a text, a tensor nor a container."""
        raise WireError(f"not plain: {type(thing).__name__}")

    def _container(self, value):
        most = MOST_HASHED if isinstance(value, (dict, set, frozenset)) else MOST_ITEMS
        if id(value) in self._inside or len(self._inside) >= MOST_DEPTH or len(value) > most:
            raise WireError("a container holds itself, or too much")
        self._inside.append(id(value))
        try:
            if isinstance(value, dict):
                # Subclasses of dict, such as OrderedDict, are sent as plain dicts.
                items = [[self.pack(key), self.pack(item)] for key, item in dict.items(value)]
                return {"k": "dict", "v": items}
            name = next(name for name, kind in CONTAINERS.items() if isinstance(value, kind))
            return {"k": name, "v": [self.pack(item) for item in value]}
        finally:
            self._inside.pop()

    def tensor(self, tensor: torch.Tensor) -> dict:
        """The node of a tensor: its numbers, the order of its axes in memory, and whether it requires a gradient."""
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
            plain = tensor.detach().as_subclass(torch.Tensor)
            dtype = str(plain.dtype).removeprefix("torch.")
            node = {"k": "tensor"}
            if tensor.requires_grad:
                node |= {"requires_grad": True, "leaf": tensor.is_leaf}
            if plain.device.type != "cpu":
                return {**node, "dtype": dtype, "shape": list(plain.shape)}
            if dtype not in DTYPES:
                return self.foreign(tensor)
            plain = plain.to_dense() if plain.layout != torch.strided else plain
            order = sorted(range(plain.ndim), key=lambda axis: -plain.stride(axis))
            if not plain.is_contiguous() and plain.permute(order).is_contiguous():
                plain, node["order"] = plain.permute(order), order
            plain = plain.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
            if plain.dtype == torch.complex128:  # which safetensors does not have
                plain, node["complex"] = torch.view_as_real(plain), True
        self.size += plain.nbytes
        return {**node, "numbers": plain}


class Unpacker:
    """Turns nodes back into values; a subclass may override `foreign`."""

    def __init__(self):
        self.size = 0  # bytes of its tensors
        self._depth = self._hashed = 0

    def foreign(self, node: dict):
        """The object of a node that the sender's `foreign` made."""
        raise WireError(f"not plain: {node['k']}")

    def unpack(self, node):
        """The value of one node.

        Raises:
            WireError: the node is not valid.
        """
        if node is None or type(node) in (bool, int, float):
            return node
        if type(node) is str:
            return as_text(node)
        self._depth += 1
        try:
            kind = node["k"]
            if self._depth > 3 * MOST_DEPTH or len(node.get("v") or "") > _MOST.get(kind, MOST_ITEMS):
                raise WireError("a value holds too much")
            if kind in _MOST:
                self._hashed += len(node["v"])
                if self._hashed > MOST_HASHED_IN_ALL:
                    raise WireError("sets and dicts hold too much")
            if kind in CONTAINERS:
                return CONTAINERS[kind](self.unpack(item) for item in node["v"])
            if kind == "dict":
                return {self.unpack(key): self.unpack(item) for key, item in node["v"]}
            if kind == "tensor":
                return self.tensor(node)
            simple = _SIMPLE.get(kind)
            return simple(self, node) if simple else self.foreign(node)
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError) as error:
            raise WireError(f"not a value: {type(error).__name__}: {error}") from None
        finally:
            self._depth -= 1

    def text(self, node) -> str:
        """The long text of a node."""
        numbers = self.tensor(node)
        if numbers.nbytes > MOST_TEXT:
            raise WireError("a text is too long")
        return numbers.numpy().tobytes().decode(errors="replace")

    def tensor(self, node) -> torch.Tensor:
        """The tensor of a node, in newly allocated memory and without a gradient."""
        if "shape" in node:
            if len(node["shape"]) > MOST_AXES:
                raise WireError("a tensor has too many axes")
            return torch.empty(node["shape"], dtype=DTYPES[node["dtype"]], device="meta")
        numbers = node["numbers"]
        if not isinstance(numbers, torch.Tensor) or numbers.ndim > MOST_AXES or numbers.dtype not in DTYPES.values():
            raise WireError("not a tensor that can be sent")
        self.size += numbers.nbytes
        if numbers.dtype == torch.bool:
            # torch does not define a bool whose byte is neither 0 nor 1, so every byte other than 0 counts as True.
            numbers = numbers.view(torch.uint8) != 0
        if "complex" in node:
            numbers = torch.view_as_complex(numbers)
        order = node.get("order", range(numbers.ndim))
        if sorted(order) != list(range(numbers.ndim)):
            raise WireError("not an order of axes")
        return numbers.permute([list(order).index(axis) for axis in range(numbers.ndim)])


def as_text(words) -> str:
    """Anything of a message as text that can be written to a file: without lone surrogates."""
    return str(words).encode("utf-8", "replace").decode()


def _range(node: dict) -> range:
    found = range(*map(int, node["v"]))
    if len(found) > MOST_ITEMS:
        raise WireError("a range is too long")
    return found


_MOST = {"set": MOST_HASHED, "frozenset": MOST_HASHED, "dict": MOST_HASHED}
_SIMPLE = {
    "text": Unpacker.text,
    "fraction": lambda unpacker, node: Fraction(*map(int, node["v"])),
    "array": lambda unpacker, node: unpacker.tensor(node).numpy(),
    "number": lambda unpacker, node: unpacker.tensor(node).numpy()[()],
    "dtype": lambda unpacker, node: DTYPES[node["v"]],
    "range": lambda unpacker, node: _range(node),
}
