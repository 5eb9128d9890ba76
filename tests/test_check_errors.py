"""What an error in the learner's code is called, where its cause is certain."""

import torch
from conftest import cases

from vit_course.checks.exercise import EXERCISES


def _in_two(q):
    rows, columns = q.shape
    return rows, columns


@cases(
    ("mistake", "said", "code"),
    [
        ("view-of-transposed", "do not lie in its order", lambda q: q.transpose(1, 2).view(-1)),
        ("sizes-do-not-multiply-up", "has room for 6 numbers", lambda q: q.reshape(2, 3)),
        ("sizes-do-not-multiply-up", "beside -1 multiply to 7,", lambda q: q.reshape(-1, 7)),
        ("axes-do-not-fit", ": 5 and 4.", lambda q: q + torch.ones(4)),
        ("axes-do-not-fit", "are 5 and 6.", lambda q: q @ torch.ones(6, 5)),
        ("joined-sizes-differ", "joined", lambda q: torch.cat([q, q[:1]], dim=1)),
        ("joined-sizes-differ", "stacked", lambda q: torch.stack([q, q[:1]])),
        ("no-such-axis", "by a number", lambda q: q.sum(dim=4)),
        ("unpacked-wrongly", "parts", _in_two),
        ("raised-error", "an error", lambda q: q.no_such_name),
    ],
)
def test_an_error_whose_cause_is_certain_is_said_in_words(mistake, said, code):
    report = EXERCISES["positions.sincos"].check(lambda grid, D: code(torch.ones(9, 10, 6, 5)))
    assert report.mistake == mistake and said in report.sentence, report.text
    assert "Error: " in report.text, "PyTorch's own words are still there"
