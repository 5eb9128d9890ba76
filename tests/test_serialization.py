"""The message format between a learner's process and the checks: plain values and tensors, there and back."""

import io
from fractions import Fraction

import pytest
import torch

from vit_course.teaching.classroom.apart.serialization import Packer, Unpacker, WireError, read_frame, write_frame


def there_and_back(value):
    packer, file = Packer(), io.BytesIO()
    write_frame(file, packer.pack(value), packer.blobs)
    file.seek(0)
    tree, blobs = read_frame(file)
    return Unpacker(blobs).unpack(tree)


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
        {"k": "tensor", "dtype": "float32", "shape": [3], "b": 0},
        {"k": "tensor", "dtype": "float32", "shape": [-1], "b": 0},
        {"k": "tensor", "dtype": "object", "shape": [1], "b": 0},
        {"k": "tensor", "dtype": "float32", "shape": [2], "b": 5},
        {"k": "list", "v": 3},
        {"k": "dict", "v": [[{"k": "list", "v": []}, 1]]},
        {"k": "int", "v": "9" * 10**6},
        {"k": "fraction", "v": ["1", "0"]},
        {},
    ],
)
def test_what_is_no_value_is_refused(node):
    with pytest.raises(WireError):
        Unpacker([bytearray(8)]).unpack(node)


def test_a_message_that_is_cut_short_or_none_is_refused():
    with pytest.raises(EOFError):
        read_frame(io.BytesIO(b"\0" * 7))
    with pytest.raises(WireError):
        read_frame(io.BytesIO(b"\xff" * 16))
    with pytest.raises(WireError):
        read_frame(io.BytesIO((2).to_bytes(8, "big") + (0).to_bytes(8, "big") + b"{}"))
