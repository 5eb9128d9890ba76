"""Every check takes a right answer in other forms: those made by a generator, and those written by hand."""

import ast
import textwrap

import answers
import pytest
from exercises import solution
from rewritings import BATCHED, rewritings
from test_mutants import TRAINED

from vit_course.checks.exercise import EXERCISES

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
    "further.gradient": {"views": "no axis is cut or joined"},
    "further.rotary": {"functional": "no function turns pairs", "NumPy": GRADIENT},
    "patchify.embedding": {"NumPy": GRADIENT},
    "capstone.attention": {"NumPy": GRADIENT},
}


@pytest.mark.slow
def test_the_solutions_pass_in_other_forms(some):
    refused = {}
    for name in some([name for name in EXERCISES if name not in TRAINED], 8):
        reports = {form: EXERCISES[name].check(answer) for form, answer in rewritings(name, solution(name))}
        assert reports, name
        refused |= {(name, form): report.text for form, report in reports.items() if report.status != "passed"}
    assert refused == {}


def test_right_answers_have_every_form_that_makes_sense():
    for name, without in WITHOUT.items():
        found = {form for answer, *_ in answers.RIGHT[name] for form in _forms(answer)}
        assert found == {*FORMS, "loop"} - set(without), name


def test_every_function_of_tensors_has_its_forms():
    assert set(BATCHED) <= set(WITHOUT)


def _forms(answer) -> set[str]:
    nodes = list(ast.walk(ast.parse(textwrap.dedent(answers.source(answer)))))
    names = {node.id for node in nodes if isinstance(node, ast.Name)}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    loop = any(isinstance(node, (ast.For, ast.comprehension)) for node in nodes)
    return {form for form, known in FORMS.items() if known & names} | ({"loop"} if loop else set())
