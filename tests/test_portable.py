"""tests/portable.py: a comparison that uses much of its tolerance is named; and a telling part of it, every day."""

import re

import pytest
from conftest import ROOT, python

COMPARISONS = """
import numpy as np
import pytest
import torch


def test_numbers():
    torch.testing.assert_close(torch.tensor([1.0, 2.0005]), torch.tensor([1.0, 2.0]), rtol=0, atol=1e-3)
    np.testing.assert_allclose([3.0], [3.003], rtol=0, atol=0.01)
    assert 7.02 == pytest.approx(7, abs=0.2)
    assert abs(4e-6) < 1e-5
    assert 0.3 < 0.9


def test_the_instruction_set():
    assert torch.backends.cpu.get_cpu_capability() == "DEFAULT"


def test_the_machine():
    assert torch.backends.cpu.get_cpu_capability() == "another"
"""
# Where sums of many numbers, a training and a chapter's printed numbers would show another processor first.
TELLING = ["tests/test_layers.py", "tests/test_objectives.py", "notebooks/13_capstone.ipynb"]


def portable(*arguments):
    return python(ROOT / "tests" / "portable.py", *arguments, "-n0", "-p", "no:cacheprovider", PYTEST_ADDOPTS="")


@pytest.mark.slow
def test_what_uses_more_than_a_third_of_its_tolerance_is_marked_and_a_failure_is_named(tmp_path):
    (tmp_path / "test_numbers.py").write_text(COMPARISONS)
    done = portable("--settings", "sse", tmp_path / "test_numbers.py")
    assert done.returncode == 1 and "::test_the_machine" in done.stdout, done.stdout + done.stderr
    assert "::test_the_instruction_set" not in done.stdout
    rows = re.findall(r"^ *([\d.]+) (>?) +\S+ +\S+ +\S+ +test_numbers\.py:(\d+)$", done.stdout, re.MULTILINE)
    assert rows == [("0.50", ">", "8"), ("0.40", ">", "11"), ("0.30", "", "9"), ("0.10", "", "10")]
    assert "4 places compare numbers; 2 of them use more than a third" in done.stdout


@pytest.mark.slow
def test_telling_tests_pass_as_two_other_processors_compute():
    done = portable("--settings", "sse,avx2", *TELLING)
    print(done.stdout)
    assert done.returncode == 0, done.stdout
