"""Explorables without a page: a learner's function answers, and what is copied from a chapter is as it is there."""

import numpy as np
import pytest
import torch
from exercises import NOTEBOOKS, cells_of

from vit_course import explorables
from vit_course.explorables.rope import turn


def test_a_function_of_your_own_answers_or_its_error_is_told():
    sent = []
    figure = explorables.attention_by_hand(weights=lambda q, k: (q @ k.mT).softmax(dim=-1), divided=False)
    figure.send = lambda reply, _: sent.append(reply)
    figure._asked(figure, {"ask": 1, "state": figure.state}, [])
    figure._asked(figure, {"ask": 2, "state": figure.state | {"heads": 3}}, [])
    assert sent[0]["answers"] == 1 and np.allclose(np.sum(sent[0]["values"], axis=-1), 1)
    assert sent[1] == {"answers": 2, "error": "ValueError: heads must be one of 1, 2, got 3"}
    wrong = explorables.attention_by_hand(weights=lambda q, k: q)
    wrong.send = figure.send
    wrong._asked(wrong, {"ask": 1, "state": wrong.state}, [])
    assert sent[2]["error"] == "ValueError: weights must be (1, 1, 4, 4), got (1, 1, 4, 2)"
    with pytest.raises(ValueError, match="weights must be a function of queries and keys, got 3"):
        explorables.attention_by_hand(weights=3)


def exits(*_):
    raise SystemExit(3)


def stopped(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("weights", [exits, stopped])
def test_a_function_that_ends_the_program_is_answered_as_well(weights):
    sent, figure = [], explorables.attention_by_hand(weights=weights)
    figure.send = lambda reply, _: sent.append(reply)
    figure._asked(figure, {"ask": 1, "state": figure.state}, [])
    assert sent == [{"answers": 1, "error": "SystemExit: 3" if weights is exits else "KeyboardInterrupt"}]


def test_pictures_of_your_own_need_names():
    for given in ([None], 3, "cat.jpg"):
        with pytest.raises(ValueError, match="pictures must be a dict of pictures by their names, got"):
            explorables.eraser(given)
    with pytest.raises(ValueError, match="the name of a picture must be text, got 1"):
        explorables.eraser({1: None})


def test_rope_turns_as_chapter_12_does():
    (path,) = (path for path in NOTEBOOKS if path.stem == "12_further")
    (code,) = (cell.source for cell in cells_of(path) if cell.source.startswith("def turn("))
    chapter = {"torch": torch}
    exec(code, chapter)
    x, places = torch.randn(3, 5, 8), torch.tensor([0, 1, 4, 9, 15])
    torch.testing.assert_close(turn(x, places), chapter["turn"](x, places))
