"""Checks refuse worked solutions with one mistake, take right answers in other forms, and ask for what texts say.

A mistake may pass that changes nothing that the exercise asks for. All of them take about three minutes of one
processor; every day those of two are tried. What is taken for a loop is cut after some seconds.
"""

import ast
import inspect
import re
import textwrap
import tomllib

import answers
import pytest
import torch
from conftest import ROOT, thoroughly
from exercises import all_exercises, cells_of, made_by, repeats_runs, solution
from mutants import mutants
from rewritings import rewritings

from vit_course.checks.exercise import EXERCISES
from vit_course.checks.timeout import run_limited

# Their worked solutions train or measure for minutes; what they report is changed in tests/answers.
TRAINED = {"attention.how_many_heads", "maps.way_up", "evidence.luck", "evidence.same_head", "capstone.trained"}
SECONDS = 60
EQUIVALENT = tomllib.loads((ROOT / "tests" / "equivalent.toml").read_text(encoding="utf-8"))
NAMES = [name for name in EXERCISES if name not in TRAINED]
EVERY_DAY = ("patchify.count", "maps.rollout")


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
class _Chapters:
    def refuses(self, name, monkeypatch):
        monkeypatch.setattr("vit_course.checks.exercise.run_limited", lambda run, _: run_limited(run, SECONDS))
        found = [*mutants(all_exercises()[name][1].solution)]
        assert len(found) > 1, "or nothing is tried"
        passed = {what for what, code in found if _passes(name, code)}
        listed = {what for equal in EQUIVALENT.get(name, {}).values() for what in equal}
        assert not passed - listed, "the check lets these pass"
        assert not listed - passed, "these do not pass, or are mutants no more"


class TestEveryDay(_Chapters):
    @pytest.mark.slow
    def test_every_mutant_is_refused(self, monkeypatch):
        for name in EVERY_DAY:
            self.refuses(name, monkeypatch)


# A class is what one test process takes.
@pytest.mark.thorough
class TestFirstChapters(_Chapters):
    @pytest.mark.slow
    @pytest.mark.parametrize("name", NAMES[: len(NAMES) // 2])
    def test_every_mutant_is_refused(self, name, monkeypatch):
        self.refuses(name, monkeypatch)


@pytest.mark.thorough
class TestLastChapters(_Chapters):
    @pytest.mark.slow
    @pytest.mark.parametrize("name", NAMES[len(NAMES) // 2 :])
    def test_every_mutant_is_refused(self, name, monkeypatch):
        self.refuses(name, monkeypatch)


def _passes(name: str, code: str) -> bool:
    try:
        answer = made_by(name, code)
    except Exception:  # nothing is defined that could be handed in
        return False
    return EXERCISES[name].check(answer).status == "passed"


# The names by which a form is known in an answer's code.
FORMS = {
    "einsum": {"einsum"},
    "views": {"view", "reshape", "unflatten", "flatten", "permute", "transpose", "mT", "chunk", "view_as_complex"},
    "einops": {"rearrange", "reduce", "repeat", "pack"},
    "functional": {"F"},
    "NumPy": {"np", "numpy"},
}
GRADIENT = "a gradient is asked for"
# The forms in which nobody would write an answer, and why.
WITHOUT = {
    "start.as_batch": {"einsum": "nothing is multiplied", "functional": "no function adds an axis", "NumPy": GRADIENT},
    "patchify.video": {"NumPy": GRADIENT},
    "class_token.padded": {"NumPy": GRADIENT},
    "positions.mended": {"einsum": "nothing is multiplied", "views": "no axis is cut or joined", "NumPy": GRADIENT},
    "positions.sincos": {"functional": "no function makes a table"},
    "attention.weights": {"NumPy": GRADIENT},
    "attention.mended": {"NumPy": GRADIENT},
    "maps.class_map": {"functional": "no function averages over heads"},
    "maps.rollout": {"views": "the matrices are multiplied as they are"},
    "evidence.score": {},
    "evidence.held_out": {"views": "no axis is cut or joined"},
    "pretrained.jax": {"functional": "no function orders axes"},
    "without_labels.hidden_loss": {"NumPy": GRADIENT},
    "without_labels.targets": {},
    "further.gradient": {"views": "no axis is cut or joined"},
    "further.rotary": {"functional": "no function turns pairs", "NumPy": GRADIENT},
    "patchify.embedding": {"NumPy": GRADIENT},
    "capstone.attention": {"NumPy": GRADIENT},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES[::8], *thoroughly(*(one for one in NAMES if one not in NAMES[::8]))])
def test_a_solution_passes_in_other_forms(name):
    reports = {form: EXERCISES[name].check(answer) for form, answer in rewritings(name, solution(name))}
    assert reports, name
    assert {form: report.text for form, report in reports.items() if report.status != "passed"} == {}


def test_right_answers_have_every_form_that_makes_sense():
    for name, without in WITHOUT.items():
        found = {form for answer in answers.of(name).rights for form in _forms(answer)}
        assert found == {*FORMS, "loop"} - set(without), name


def _forms(answer) -> set[str]:
    nodes = list(ast.walk(ast.parse(textwrap.dedent(answers.code_of(answer)))))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    loop = any(isinstance(node, (ast.For, ast.comprehension)) for node in nodes)
    return {form for form, known in FORMS.items() if known & names} | ({"loop"} if loop else set())


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
PARTS = r"(?:marked|judges\b.*|marks each answer) separately|(?:counts?|checked) (?:on its own|by itself)"


def text_of(name: str) -> str:
    """The exercise's text, what is given with it and its stub; not its hints and not its solution."""
    path, exercise = all_exercises()[name]
    cells = cells_of(path)
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
        # An experiment reports plain numbers.
        if name in TRAINED or repeats_runs(name) or isinstance(solution(name), type):
            continue
        for demand, (change, slug, words) in DEMANDS.items():
            if re.search(words, text, re.IGNORECASE):
                continue
            if one.check(wrapped(solution(name), change)).mistake == slug:
                silent.append((name, demand))
    assert not silent, "\n".join(map(str, silent))
