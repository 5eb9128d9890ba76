"""The message format between two processes that do not trust each other: numbers, text, containers and tensors.

A message is a JSON tree and the raw bytes of its tensors and long texts. Nothing in it is ever executed. An instance
of a subclass, such as a number with its own == or a tensor that overrides functions, arrives as a plain number or
tensor. The limits keep the work on one message, however it was made, at a few seconds: the tree is small, each piece of
bytes is used once, and what is looked up by hash, where many values could collide, is short.
"""

import json
import math
import struct
from fractions import Fraction

import numpy as np
import torch

MOST_JSON, MOST_BYTES = 2**21, 2**28  # bytes of JSON, and of tensors and texts, in one message
MOST_ITEMS, MOST_HASHED = 10**5, 500  # in one container, and in a set or dict
MOST_DEPTH, MOST_AXES, MOST_DIGITS = 100, 64, 4000
LONG = 500  # characters; a longer text is sent as bytes
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
        torch.float32, torch.float64, torch.complex64, torch.complex128,
    )
}  # fmt: skip
WIDE_UNSIGNED = (np.uint16, np.uint32, np.uint64, np.ulonglong)  # which torch has in part
CONTAINERS = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "size": torch.Size}


class WireError(Exception):
    """A message that breaks the format."""


def write_frame(stream, tree, blobs: list) -> None:
    """Writes one message: three lengths, then the JSON, then the bytes."""
    text = json.dumps([tree, [len(blob) for blob in blobs]], allow_nan=False, separators=(",", ":")).encode()
    if len(text) > MOST_JSON or sum(map(len, blobs)) > MOST_BYTES:
        raise WireError("a message is too long")
    stream.write(struct.pack(">QQ", len(text), sum(map(len, blobs))))
    stream.write(text)
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def read_frame(stream) -> tuple[object, list]:
    """-> (tree, blobs) of the next message.

    Raises:
        EOFError: the other side is gone.
        WireError: the message is too long or not valid.
    """
    text_length, byte_length = struct.unpack(">QQ", _exactly(stream, 16))
    if text_length > MOST_JSON or byte_length > MOST_BYTES:
        raise WireError("a message is too long")
    try:
        tree, lengths = json.loads(_exactly(stream, text_length))
        if any(type(length) is not int or length < 0 for length in lengths) or sum(lengths) != byte_length:
            raise WireError("the lengths of a message do not add up")
    except (ValueError, TypeError, RecursionError) as error:
        raise WireError(f"not a message: {type(error).__name__}") from None
    return tree, [bytearray(_exactly(stream, length)) for length in lengths]


def _exactly(stream, length: int) -> bytes:
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return data


class Packer:
    """Turns values into nodes of the JSON tree; a subclass may override `foreign`."""

    def __init__(self):
        self.blobs: list[bytes] = []
        self._inside: list[int] = []

    def pack(self, value):
        """The node of one value."""
        if value is None or value is True or value is False:
            return value
        kind = type(value)
        if issubclass(kind, int) and not issubclass(kind, bool):
            value = int.__int__(value)
            return value if abs(value) < 2**53 else {"k": "int", "v": _digits(value)}
        if issubclass(kind, float) and not issubclass(kind, np.generic):
            value = float.__float__(value)
            return value if math.isfinite(value) else {"k": "float", "v": repr(value)}
        if issubclass(kind, str):
            text = str.__str__(value).encode("utf-8", "replace")
            if len(text) <= LONG:
                return text.decode()
            self.blobs.append(text)
            return {"k": "text", "b": len(self.blobs) - 1}
        if issubclass(kind, torch.Tensor):
            return self.foreign(value) if isinstance(value, torch.nn.Parameter) else self.tensor(value)
        if kind in WIDE_UNSIGNED:
            return self.pack(int(value))
        if issubclass(kind, (np.ndarray, np.generic)) and value.dtype.kind in "biufc":
            value = value.astype(np.int64) if value.dtype.type in WIDE_UNSIGNED else value
            node = self.tensor(torch.from_numpy(np.array(value)))
            return {**node, "k": "array" if issubclass(kind, np.ndarray) else "number"}
        if kind is Fraction:
            return {"k": "fraction", "v": [_digits(value.numerator), _digits(value.denominator)]}
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
            name = "size" if isinstance(value, torch.Size) else None
            name = name or next(name for name, kind in CONTAINERS.items() if isinstance(value, kind))
            return {"k": name, "v": [self.pack(item) for item in value]}
        finally:
            self._inside.pop()

    def tensor(self, tensor: torch.Tensor) -> dict:
        """The node of a tensor: its numbers, the order of its axes in memory, and whether it requires a gradient."""
        with torch._C.DisableTorchFunctionSubclass(), torch.no_grad():
            plain = tensor.detach().as_subclass(torch.Tensor)
            node = {"k": "tensor", "dtype": str(plain.dtype).removeprefix("torch."), "shape": list(plain.shape)}
            if tensor.requires_grad:
                node["wants"] = True
            if plain.device.type != "cpu":
                return {**node, "device": "meta"}
            if plain.layout != torch.strided:
                plain = plain.to_dense()
            if node["dtype"] not in DTYPES:
                return self.foreign(tensor)
            plain = plain.resolve_conj().resolve_neg()
            order = sorted(range(plain.ndim), key=lambda axis: -plain.stride(axis))
            if not plain.is_contiguous() and plain.permute(order).is_contiguous():
                plain = plain.permute(order)
                node["order"] = order
            node["b"] = len(self.blobs)
            self.blobs.append(
                plain.clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8).numpy().tobytes()
            )
        return node


class Unpacker:
    """Turns nodes back into values; a subclass may override `foreign`."""

    def __init__(self, blobs: list):
        self.blobs, self._depth = blobs, 0

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

    def bytes(self, number) -> bytearray:
        """A piece of the message's bytes. Each is used once: many tensors of one piece would fill the memory."""
        found, self.blobs[_size(number)] = self.blobs[_size(number)], None
        return found

    def tensor(self, node) -> torch.Tensor:
        """The tensor of a node, in newly allocated memory and without a gradient."""
        if len(node["shape"]) > MOST_AXES:
            raise WireError("a tensor has too many axes")
        dtype, shape = DTYPES[node["dtype"]], [_size(size) for size in node["shape"]]
        if node.get("device") == "meta":
            return torch.empty(shape, dtype=dtype, device="meta")
        blob = self.bytes(node["b"])
        if len(blob) != math.prod(shape) * dtype.itemsize:
            raise WireError("a tensor does not have as many numbers as its shape says")
        order = node.get("order", range(len(shape)))
        if sorted(order) != list(range(len(shape))):
            raise WireError("not an order of axes")
        if not blob:
            return torch.empty(shape, dtype=dtype)
        numbers = torch.frombuffer(blob, dtype=torch.uint8)
        # torch does not define a bool whose byte is neither 0 nor 1, so every byte other than 0 counts as True.
        numbers = numbers != 0 if dtype == torch.bool else numbers.view(dtype)
        back = [list(order).index(axis) for axis in range(len(shape))]
        return numbers.reshape([shape[axis] for axis in order]).permute(back)


def as_text(words) -> str:
    """Anything of a message as text that can be written to a file: without lone surrogates."""
    return str(words).encode("utf-8", "replace").decode()


def _size(value) -> int:
    if type(value) is not int or not 0 <= value < 2**40:
        raise WireError("not a size")
    return value


def _digits(value: int) -> str:
    if value.bit_length() > 3 * MOST_DIGITS:
        raise WireError("a number is too long")
    return str(value)


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise WireError("a number is too long")
    return int(text)


def _range(node: dict) -> range:
    found = range(*map(int, node["v"]))
    if len(found) > MOST_ITEMS:
        raise WireError("a range is too long")
    return found


_MOST = {"set": MOST_HASHED, "frozenset": MOST_HASHED, "dict": MOST_HASHED}
_SIMPLE = {
    "text": lambda unpacker, node: unpacker.bytes(node["b"]).decode(errors="replace"),
    "int": lambda unpacker, node: _whole(node["v"]),
    "float": lambda unpacker, node: float(node["v"]),
    "fraction": lambda unpacker, node: Fraction(*map(_whole, node["v"])),
    "array": lambda unpacker, node: unpacker.tensor(node).numpy(),
    "number": lambda unpacker, node: unpacker.tensor(node).numpy()[()],
    "dtype": lambda unpacker, node: DTYPES[node["v"]],
    "range": lambda unpacker, node: _range(node),
}
