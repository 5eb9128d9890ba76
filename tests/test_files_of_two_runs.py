"""A run folder whose state and best weights come from two runs is not resumed, and nothing in it changes."""

import shutil

import pytest
import runs
from runs import RECIPE, cut_after, files
from test_objectives import masked

from vit_course.training import train


@pytest.mark.parametrize("strange", ["last.safetensors", "best.safetensors"])
def test_the_state_of_one_run_and_the_best_weights_of_another_are_refused(strange, dataset, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "new_model", masked)
    train(masked(), dataset, RECIPE, tmp_path / "whole", progress=False)
    cut_after(1, monkeypatch, tmp_path / "cut", dataset, RECIPE)
    shutil.copy(tmp_path / "whole" / strange, tmp_path / "cut")
    before = files(tmp_path / "cut")
    with pytest.raises(ValueError, match="the files are of two runs; restore both from one copy"):
        train(masked(), dataset, RECIPE, tmp_path / "cut", resume=True, progress=False)
    assert files(tmp_path / "cut") == before
