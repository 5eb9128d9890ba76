"""The message format between a learner's process and the checks: plain values and tensors, there and back."""

import io
from fractions import Fraction

import pytest
import safetensors.torch
import torch

from vit_course.teaching.classroom.apart.serialization import (
    MOST_JSON,
    Packer,
    Unpacker,
    WireError,
    read_message,
    write_message,
)


def there_and_back(value):
    file = io.BytesIO()
    write_message(file, Packer().pack(value))
    file.seek(0)
    return Unpacker().unpack(read_message(file))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -(2**80),
        0.1,
        float("inf"),
        "é\n",
        (1, [2, {"a": (3,)}]),
        {(1, 2): 0.5},
        {1, 2},
        range(2, 9, 3),
        torch.Size([2, 3]),
        torch.float16,
        Fraction(2, 3),
    ],
)
def test_plain_values_come_back_as_they_went(value):
    found = there_and_back(value)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_tensors_keep_numbers_shape_and_order(dtype):
    tensor = (torch.randn(2, 3, 5) * 3).to(dtype).permute(2, 0, 1)
    found = there_and_back(tensor)
    assert found.dtype == dtype and torch.equal(found, tensor) and found.stride() == tensor.stride()
    assert torch.equal(there_and_back(torch.zeros(0, 4)), torch.zeros(0, 4))
    assert there_and_back(torch.tensor(7)).item() == 7


@pytest.mark.parametrize(
    "node",
    [
        {"k": "tensor", "dtype": "float32", "shape": [-1]},
        {"k": "tensor", "dtype": "object", "shape": [1]},
        {"k": "tensor", "numbers": [1.0]},
        {"k": "tensor", "numbers": torch.zeros(2, 3), "order": [0, 0]},
        {"k": "tensor", "numbers": torch.zeros((1,) * 65)},
        {"k": "text", "numbers": None},
        {"k": "list", "v": 3},
        {"k": "dict", "v": [[{"k": "list", "v": []}, 1]]},
        {"k": "fraction", "v": [1, 0]},
        {},
    ],
)
def test_what_is_no_value_is_refused(node):
    with pytest.raises(WireError):
        Unpacker().unpack(node)


def test_a_forged_bool_is_true_or_false():
    forged = torch.tensor([0, 1, 2], dtype=torch.uint8).view(torch.bool)
    found = Unpacker().unpack({"k": "tensor", "numbers": forged})
    assert found.view(torch.uint8).tolist() == [0, 1, 1]


def test_a_message_that_is_cut_short_or_none_is_refused():
    with pytest.raises(EOFError):
        read_message(io.BytesIO(b"\0" * 7))
    with pytest.raises(EOFError):
        read_message(io.BytesIO((10).to_bytes(8, "little") + b"\0" * 9))
    for data in (b"", b"{}", b"\xff" * 16, (2).to_bytes(8, "little") + b"{}", safetensors.torch.save({})):
        with pytest.raises(WireError):
            read_message(io.BytesIO(len(data).to_bytes(8, "little") + data))


def test_a_tree_that_is_too_long_is_refused_before_it_is_read():
    for length in (MOST_JSON, MOST_JSON + 1):
        text = torch.full((length,), ord(" "), dtype=torch.uint8)
        text[0] = ord("1")
        data = safetensors.torch.save({"tree": text})
        file = io.BytesIO(len(data).to_bytes(8, "little") + data)
        if length > MOST_JSON:
            with pytest.raises(WireError, match="too long"):
                read_message(file)
        else:
            assert read_message(file) == 1
