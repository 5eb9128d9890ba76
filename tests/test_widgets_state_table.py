"""What a state of a widget may hold, by its table."""

import math

import torch

from vit_course._support.widgets.state_table import refusal


def test_a_table_says_what_it_takes():
    table = {
        "a": {"usual": 0, "least": 0, "counts": "patches", "whole": True},
        "b": {"usual": True, "flag": True},
        "c": {"usual": [[0, 1]], "shape": [1, 2], "least": -1, "most": 1},
        "d": {"usual": "x", "choices": ["x", 2]},
    }
    say = lambda name, value: refusal(table, name, value, {"patches": 4})  # noqa: E731
    assert not any(say(*one) for one in (("a", 3), ("b", False), ("c", [[-1, 0.5]]), ("d", 2)))
    assert say("a", 4) == "a must be a whole number from 0 to 3, got 4"
    assert say("a", 1.5).startswith("a must be") and say("a", True).startswith("a must be")
    assert say("b", 1) == "b must be True or False, got 1"
    assert say("c", [[0, math.nan]]).startswith("c must be 1 x 2 numbers from -1 to 1, got")
    assert say("c", [0, 1]) and say("c", [[0, 1], [0, 1]])
    for given in (torch.tensor(2), torch.tensor([1, 2])):
        assert [say(name, given)[:9] for name in "abcd"] == [f"{name} must be" for name in "abcd"]
    assert say("d", "2") == "d must be one of \"x\", 2, got '2'"
