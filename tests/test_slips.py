"""The mistakes that the checks foresee: generated from the right answers, each wrong, each named."""

import ast
import builtins
import importlib
import inspect
import re
import tomllib
from string import Formatter

import numpy as np
import pytest
import torch
from conftest import ROOT, cases

from vit_course.checks.exercise import EXERCISES
from vit_course.checks.report import Wrong
from vit_course.checks.tools.no_gradient import any_precision
from vit_course.checks.tools.slips import Known, named_by_details
from vit_course.checks.tools.table import COMMON, refuse, table

# Exercises whose checks take milliseconds, and the right function of each, where its table has steps.
QUICK = {
    "maps.rollout": "flow",
    "evidence.held_out": "_chosen",
    "pretrained.jax": "_joined",
    "further.gradient": "_whole",
}
GENERIC = {"wrong-values", "wrong-shape", "raised-error", "hard-coded-size", "wrong-type"}
TABLES = sorted(ROOT.glob("vit_course/checks/*/*.toml"))
SHARED = ROOT / "vit_course/checks/tools/shared.toml"
PASSED_ON = {"answer", "images", "batches"}  # what a check gives to a table of functions by `seen`
BY_TOOLS = {"setting", "source", "right"}  # of a run that is made again, and of the accountant


def read(path):
    return tomllib.loads(path.read_text(encoding="utf-8"))


def rows_of(path):
    """-> of each row of a file: the table, what it is a row of, and the row."""
    for said in (said for name, said in read(path).items() if name != "right"):
        for key, rows in said.items():
            for row in rows if isinstance(rows, list) else ():
                yield said, key, row


@pytest.mark.slow
@cases("name", QUICK)
def test_every_foreseen_mistake_is_rejected_and_named(name):
    module = importlib.import_module(f"vit_course.checks.{name}")
    mistakes = table(module.__name__, "mistakes", QUICK[name] and getattr(module, QUICK[name]))
    assert len({mistake.slug for mistake in mistakes}) >= 8
    for mistake in (one for one in mistakes if "-and-" not in one.slug):
        report = EXERCISES[name].check(mistake.function)
        assert report.status == "failed" and report.mistake not in GENERIC, (mistake, report.text)


@cases("path", TABLES)
def test_a_row_knows_the_names_it_uses(path):
    alone = path == SHARED or not path.with_suffix(".py").exists()
    if alone:
        module, of_check = torch, set()  # it sees no module
    else:
        module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        nodes = list(ast.walk(ast.parse(inspect.getsource(module))))
        of_check = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        of_check |= {n.arg for n in nodes if isinstance(n, ast.arg)}
        of_check |= {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
    everywhere = {*COMMON, *dir(builtins), *BY_TOOLS} | (set() if alone else set(vars(module)))
    for said, key, row in rows_of(path):
        if isinstance(row, str):
            assert row in read(SHARED).get(key, {}) or row in read(path), row
            continue
        seen = everywhere | ({*said["of"].split(", "), *PASSED_ON} if "of" in said else of_check)
        patterned = key == "errors"
        expressions = re.findall("<<(.+?)>>", row[0]) if patterned else row[2:]
        slots = [] if patterned or key != "rows" else [one for _, one, *_ in Formatter().parse(row[1]) if one]
        for expression in (*expressions, *slots):
            assert _free(expression) <= (everywhere | of_check if patterned else seen), row


def _free(expression: str) -> set[str]:
    nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    bound = {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return {node.id for node in nodes if isinstance(node, ast.Name)} - bound


@cases("path", TABLES)
def test_a_row_is_a_slug_a_sentence_and_expressions(path):
    for _, key, row in rows_of(path):
        if isinstance(row, list):
            slug, sentence = row[1:] if key == "errors" else row[:2]
            assert len(row) >= 3 and re.fullmatch(r"[a-z0-9-]+", slug) and sentence.endswith((".", "?")), row


STEPS = """
[numbers]
of = "x"
pairs = 2
factor = [
  ["times-three", "It is three times.", "3"],
  ["times-four", "It is four times.", "4"],
]
add = [["one-more", "One is added.", "1"]]
result = [["nothing", "It is nothing.", "0 * x", "None"]]

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
