"""The mistakes that the checks foresee: generated from the right answers, each wrong, each named."""

import ast
import builtins
import importlib
import inspect
import re
import tomllib

import numpy as np
import pytest
import torch
from conftest import ROOT, cases

from vit_course.checks.exercise import EXERCISES
from vit_course.checks.report import Wrong
from vit_course.checks.tools.no_gradient import any_precision
from vit_course.checks.tools.slips import Known, named_by_details
from vit_course.checks.tools.table import COMMON, refuse, table

# Exercises whose checks take milliseconds.
QUICK = ("maps.rollout", "evidence.held_out", "pretrained.jax", "further.gradient")
GENERIC = {"wrong-values", "wrong-shape", "raised-error", "hard-coded-size", "wrong-type"}
TABLES = sorted(ROOT.glob("vit_course/checks/*/*.toml"))
NO_ROWS = ("of", "pairs", "errors")


@pytest.mark.slow
@cases("name", QUICK)
def test_every_foreseen_mistake_is_rejected_and_named(name):
    module = importlib.import_module(f"vit_course.checks.{name}")
    right = next((getattr(module, one) for one in ("flow", "_chosen") if hasattr(module, one)), None)
    table_of = "gradients" if name == "further.gradient" else "mistakes"
    mistakes = table(module.__name__, table_of, right)
    assert len({mistake.slug for mistake in mistakes}) >= 8
    for mistake in (one for one in mistakes if "-and-" not in one.slug):
        report = EXERCISES[name].check(mistake.function)
        assert report.status == "failed" and report.mistake not in GENERIC, (mistake, report.text)


@cases("path", TABLES)
def test_the_expressions_of_a_table_know_their_names(path):
    if path.name == "shared.toml":
        return
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    code = ast.parse(inspect.getsource(module))
    of_checks = {n.id for n in ast.walk(code) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    of_checks |= {n.arg for n in ast.walk(code) if isinstance(n, ast.arg)}
    of_checks |= {n.name for n in ast.walk(code) if isinstance(n, ast.FunctionDef)}
    for name, said in tomllib.loads(path.read_text(encoding="utf-8")).items():
        seen = {*vars(module), *COMMON, *dir(builtins)}
        seen |= {*said["of"].split(", "), *PASSED_ON} if "of" in said else of_checks
        for step, rows in said.items():
            for row in rows if step not in NO_ROWS else ():
                for expression in row[2:] if isinstance(row, list) else ():
                    assert _free(expression) <= seen, (name, row)


PASSED_ON = {"inverted"}  # what a check gives to a table by `seen`


def _free(expression: str) -> set[str]:
    tree = ast.parse(expression, mode="eval")
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return used - bound - {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


@cases("path", TABLES)
def test_a_row_is_a_slug_a_sentence_and_expressions(path):
    for name, said in tomllib.loads(path.read_text(encoding="utf-8")).items():
        for step, rows in said.items():
            for row in rows if step not in ("of", "pairs") and path.name != "shared.toml" else ():
                if isinstance(row, str):
                    assert row in tomllib.loads(SHARED.read_text(encoding="utf-8"))[step], (path, row)
                    continue
                slug, sentence = row[1:3] if step == "errors" else row[:2]
                assert len(row) >= 3 and re.fullmatch(r"[a-z0-9-]+", slug), (name, row)
                assert sentence.endswith((".", "?")), (name, row)


SHARED = ROOT / "vit_course/checks/tools/shared.toml"
STEPS = """
[numbers]
of = "x"
pairs = 2
factor = [
  ["times-three", "It is three times.", "3"],
  ["times-four", "It is four times.", "4"],
]
add = [
  ["one-more", "One is added.", "1"],
]
result = [
  ["nothing", "It is nothing.", "0 * x", "None"],
]

[said]
rows = [
  ["too-large", "More than {most}.", "x > most"],
  ["negative", "Less than 0.", "x < 0"],
]
"""


def scaled(x, factor=2, add=0):
    return factor * x + add


@pytest.fixture
def tables(monkeypatch):
    monkeypatch.setattr("vit_course.checks.tools.table._read", lambda module: tomllib.loads(STEPS))
    return lambda **options: table(__name__, "numbers", scaled, **options)


def test_slips_alone_and_together(tables):
    mistakes = tables()
    assert [(m.slug, m.function(10)) for m in mistakes] == [
        ("times-three", 30),
        ("times-four", 40),
        ("one-more", 21),
        ("nothing", 0),
        ("nothing", None),
        ("times-three-and-one-more", 31),
        ("times-four-and-one-more", 41),
    ]
    assert mistakes[5].sentence == "Two things are wrong. It is three times. One is added."
    assert [m.slug for m in tables(only=["add"])] == ["one-more"]


def test_the_first_row_that_is_true_refuses(tables):
    refuse(__name__, "said", {"x": 3, "most": 5})
    with pytest.raises(Wrong, match=r"More than 5\.") as caught:
        refuse(__name__, "said", {"x": 6, "most": 5}, ["Received: 6"])
    assert (caught.value.mistake, caught.value.details) == ("too-large", ("Received: 6",))


def test_a_generic_verdict_is_named_by_its_details():
    known = Known(r"Received: \(\d+,\)$", "in-one-line", "It lies in one line.")
    for slug, received, expected in (
        ("wrong-shape", "Received: (6,)", "in-one-line"),
        ("wrong-shape", "Received: (6, 1)", "wrong-shape"),
        ("not-finite", "Received: (6,)", "not-finite"),
    ):
        with pytest.raises(Wrong) as caught, named_by_details(known):
            raise Wrong(slug, "As it was.", [received])
        assert (caught.value.mistake, caught.value.details) == (expected, (received,))


def test_where_no_gradient_is_needed_a_result_of_numpy_is_rounded():
    assert any_precision(lambda x: torch.from_numpy(x.numpy().astype(np.float64)))(torch.ones(2)).dtype == torch.float32
    assert any_precision(lambda x: x.half())(torch.ones(2)).dtype == torch.float16
    assert any_precision("no function") == "no function"
