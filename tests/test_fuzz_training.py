"""Drawn recipes, arguments and damaged states for a training: a whole history, or a sentence of ours."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import RECIPE, cut_after, new_model
from strategies import ANYTHING, REFUSED, damaged_safetensors, fuzz, given_by_name, mostly, outcome
from torch import nn

from vit_course.data import shapes
from vit_course.files.weights import load_weights
from vit_course.training import TrainingConfig, evaluate, train

pytestmark = pytest.mark.slow
DATASET = shapes(num_train=9, num_validation=4, num_test=3, image_size=(12, 8))
SHORT = replace(RECIPE, epochs=2, batch_size=6)
SIZE, SHARE = st.integers(1, 5), st.floats(0, 0.9)
# Anything but what would train for hours, or call a compiler.
FIELDS = dict(
    epochs=st.integers(1, 2), batch_size=SIZE, learning_rate=st.floats(1e-6, 1), warmup=SHARE, weight_decay=SHARE,
    optimiser=st.sampled_from(["adamw", "muon"]), beta2=SHARE, label_smoothing=SHARE, clip_norm=st.floats(0, 9),
    padding=st.integers(0, 3), flip=st.booleans(), cutout=st.integers(0, 3), average=SHARE,
    precision=st.sampled_from(["float32", "bfloat16"]), seed=st.integers(0, 99),
)  # fmt: skip


def is_whole(history, epochs):
    assert [row["epoch"] for row in history] == [*range(1, epochs + 1)]
    assert all(math.isfinite(value) for row in history for value in row.values())
    assert all(0 <= row[name] <= 1 for row in history for name in ("train_accuracy", "validation_accuracy"))


@fuzz(60)
@given(given_by_name(**FIELDS))
def test_a_drawn_recipe_trains_or_is_refused(fields):
    config = outcome(TrainingConfig, **fields)
    if config is not REFUSED:
        history = outcome(train, new_model(), DATASET, config, progress=False)
        if history is not REFUSED:
            is_whole(history, config.epochs)


ONCE = replace(SHORT, epochs=1)
ARGUMENTS = dict(
    model=st.just("new"),
    dataset=st.just(DATASET),
    config=st.just(ONCE),
    run_dir=st.none() | st.just("run"),
    resume=st.booleans(),
    accumulate=st.integers(1, 7),
    workers=st.just(0),
    progress=st.just(False),
    compiled=st.just(False),
)


@fuzz(80)
@given(given_by_name(**ARGUMENTS))
def test_drawn_arguments_train_or_are_refused(tmp_path_factory, values):
    if values["compiled"] is True:
        return
    if values["model"] == "new":
        values["model"] = new_model()
    run_dir = values["run_dir"]
    if isinstance(run_dir, str) and run_dir.isprintable() and "/" not in run_dir:
        values["run_dir"] = tmp_path_factory.mktemp("run") / (run_dir or "run")
    elif run_dir is not None and not isinstance(run_dir, (int, float, bool, bytes)):
        values["run_dir"] = None if hasattr(run_dir, "parts") or isinstance(run_dir, str) else run_dir
    history = outcome(train, **values)
    if history is not REFUSED:
        is_whole(history, 1)


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """The state of a run that was cut off after the first of two epochs."""
    folder = tmp_path_factory.mktemp("state")
    with pytest.MonkeyPatch.context() as patch:
        cut_after(1, patch, folder, DATASET, SHORT)
    return (folder / "last.safetensors").read_bytes()


@fuzz(150)
@given(st.data())
def test_a_damaged_state_is_gone_on_with_or_refused(state, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("resumed")
    (folder / "last.safetensors").write_bytes(data.draw(damaged_safetensors(state)))
    history = outcome(train, new_model(), DATASET, SHORT, folder, resume=True, progress=False)
    assert not (folder / ".lock").exists()
    if history is not REFUSED:
        is_whole(history, 2)
        load_weights(folder / "last.safetensors")


@fuzz(100)
@given(
    mostly(st.just(new_model())), mostly(st.just(DATASET.test)), mostly(st.just(DATASET)), mostly(st.integers(1, 9)),
    mostly(st.just(0)),
)  # fmt: skip
def test_an_evaluation_gives_a_share_or_is_refused(model, images, dataset, batch_size, workers):
    found = outcome(evaluate, model, images, dataset, batch_size, workers=workers)
    if found is not REFUSED:
        assert math.isfinite(found[0]) and 0 <= found[1] <= 1


@fuzz(30)
@given(ANYTHING)
def test_what_a_model_gives_is_taken_or_refused(output):
    class Gives(nn.Linear):
        def forward(self, images):
            return output

    assert outcome(train, Gives(2, 3), DATASET, ONCE, progress=False) is REFUSED
    assert outcome(evaluate, Gives(2, 3), DATASET.test, DATASET) is REFUSED
