"""The rules that every argument passes: what they refuse, and how a value is shown in the sentence."""

from pathlib import Path

import numpy as np
import pytest
import torch

from vit_course._support.inputs.arguments import check_statistics, height_and_width
from vit_course._support.inputs.rules import path_name, shown
from vit_course._support.inputs.tensors import check_axes, check_finite, check_module, check_whole_numbers


class Mute:
    def __repr__(self):
        raise RuntimeError("no text")


class Lying:
    shape, dtype = 3, "none"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.zeros(2, 3), "Tensor of shape (2, 3) of torch.float32"),
        (np.zeros((5, 0), dtype=np.uint8), "ndarray of shape (5, 0) of uint8"),
        (torch.tensor(4), "tensor(4)"),
        (np.int64(4), "np.int64(4)"),
        ("a\nb", r"'a\nb'"),
        ({"a": np.zeros((2, 2))}, "{'a': array([[0., 0.], [0., 0.]])}"),  # on one line
        ([7] * 99, "[" + "7, " * 25 + "7..."),
        (object(), "object"),
        ([object()], "list"),  # whose repr has an address
        (Mute(), "Mute"),
        ([Mute()], "list"),
        (10**6000, "an int too long to show"),
        (Lying(), "Lying"),
        (None, "None"),
    ],
)
def test_a_value_in_a_sentence(value, text):
    assert shown(value) == text and len(text) <= 80


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "the path must be a str or a Path, got None"),
        (b"a", "the path must be a str or a Path, got b'a'"),
        ("", "the path must be one that a file can have, got ''"),
        ("a\0b", r"the path must be one that a file can have, got 'a\\x00b'"),
        (Path("a\ud800"), r"the path must be one that a file can have, got 'a\\ud800'"),
    ],
)
def test_a_path_that_is_none(value, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        path_name("the path", value)
    path_name("the path", "no/such/file")
    path_name("the path", Path())


def test_an_image_size_is_one_int_or_two():
    assert height_and_width("size", 7) == (7, 7) and height_and_width("size", [7, 9]) == (7, 9)
    for value, message in (
        (0, "size must be at least 1, got 0"),
        ((7, 0), r"size must be an int or \(height, width\), two ints of at least 1, got \(7, 0\)"),
        (np.int64(7), r"size must be an int or \(height, width\), two .*, got np.int64\(7\)"),
        ((7, 2**16 + 1), r"size must be an int or \(height, width\) of at most 65536 each, .* got \(7, 65537\)"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            height_and_width("size", value)


def test_statistics_of_other_channels_than_asked_for():
    check_statistics((0.5, 0.4), [0.2, 0.3], channels=(2,))
    for channels, count in (((1, 3), "1 or 3"), ((3,), "3")):
        with pytest.raises(ValueError, match=f"^mean and std must have {count} values, got 2 and 2$"):
            check_statistics((0.5, 0.4), (0.2, 0.3), channels)


def test_tensors():
    check_axes("x", torch.zeros(2, 3).bool(), "(B, D)", torch.bool)
    check_whole_numbers("x", torch.zeros(2, dtype=torch.uint8))
    check_finite("x", torch.zeros(2))
    for check, message in (
        (lambda: check_axes("x", torch.zeros(2, 3), "(B, D)", torch.bool), "x must be bool, got float32"),
        (lambda: check_whole_numbers("x", torch.zeros(2).bool()), "x must be whole numbers, got bool"),
        (lambda: check_whole_numbers("x", torch.zeros(2).cfloat()), "x must be whole numbers, got complex64"),
        (
            lambda: check_finite("x", torch.tensor([1.0, torch.nan, torch.inf])),
            "x must be finite, but 2 of 3 numbers are",
        ),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            check()
    with pytest.raises(TypeError, match=r"^m must be a torch\.nn\.Module, got the class Linear$"):
        check_module("m", torch.nn.Linear)
