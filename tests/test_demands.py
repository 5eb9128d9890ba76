"""What a check asks for beyond the right numbers stands in the text of its exercise."""

import inspect
import re

import exercises
import pytest
import torch
from test_mutants import TRAINED

from vit_course.checks.exercise import EXERCISES


def floats(out):
    """What is counted, as floats: also inside a dict or a shape."""
    if isinstance(out, dict):
        return {name: floats(one) for name, one in out.items()}
    return float(out) if type(out) is int else out


def of_tensor(change):
    return lambda out: change(out) if isinstance(out, torch.Tensor) and out.is_floating_point() else out


# What is done to a right answer, the slug where a check minds, and the words in the text by which a learner knows.
DEMANDS = {
    "gradient": (of_tensor(torch.Tensor.detach), "gradient-cut", r"gradient"),
    "dtype": (of_tensor(torch.Tensor.double), "wrong-dtype", r"float32|dtype|type of the input"),
    "bool": (lambda out: out.int() if isinstance(out, torch.Tensor) and out.dtype == torch.bool else out,
             "wrong-dtype", r"bool"),
    "whole numbers": (floats, "float-count", r"whole number|integer|\bints?\b"),
}  # fmt: skip
PARTS = r"counts? (?:on its own|by itself)"


def text_of(name: str) -> str:
    """The exercise's text, what is given with it and its stub; not its hints and not its solution."""
    path, exercise = exercises.all_exercises()[name]
    cells = exercises.cells_of(path)
    start = next(i for i, cell in enumerate(cells) if cell.source.startswith(f"### Exercise {EXERCISES[name].number}:"))
    end = next(i for i in range(start, len(cells)) if cells[i].source == exercise.stub_code)
    text = "\n".join(cell.source for cell in cells[start : end + 1])
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


def wrapped(answer, change):
    return lambda *given, **named: change(answer(*given, **named))


@pytest.mark.slow
def test_a_text_says_what_its_check_asks_for():
    silent = []
    for name, one in EXERCISES.items():
        text = text_of(name)
        if "parts" in inspect.signature(one.check.__wrapped__).parameters and not re.search(PARTS, text):
            silent.append((name, "parts"))
        is_experiment = "made_again(" in inspect.getsource(one.check.__wrapped__)  # it reports plain numbers
        if name in TRAINED or is_experiment or isinstance(exercises.solution(name), type):
            continue
        for demand, (change, slug, words) in DEMANDS.items():
            if re.search(words, text):
                continue
            if one.check(wrapped(exercises.solution(name), change)).mistake == slug:
                silent.append((name, demand))
    assert not silent, "\n".join(map(str, silent))
