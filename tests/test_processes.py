"""One process: whatever others left in Accelerate's state, a run is where its model is."""

import pytest
import torch
from accelerate import Accelerator, PartialState
from accelerate.state import AcceleratorState, GradientState
from conftest import cases
from runs import new_model

from vit_course import data, training
from vit_course.__main__ import main
from vit_course.training import TrainingConfig, processes, train
from vit_course.vit import ViT


def trained() -> ViT:
    model = new_model()
    train(model, data.shapes(60, 20, 20, image_size=(12, 8)), TrainingConfig(epochs=1, batch_size=32), progress=False)
    return model


@pytest.fixture
def foreign_state():
    """What a notebook leaves that made an Accelerator of its own: another precision, and another device."""
    Accelerator(cpu=True, mixed_precision="bf16")
    PartialState._shared_state["device"] = torch.device("meta")
    yield
    AcceleratorState._reset_state(reset_partial_state=True)
    GradientState._reset_state()


def test_the_state_of_accelerate_changes_nothing(request):
    before = trained()
    assert AcceleratorState._shared_state == {} and PartialState._shared_state == {}, "it leaves no state itself"
    request.getfixturevalue("foreign_state")
    after = trained()
    assert all(torch.equal(a, b) for a, b in zip(before.parameters(), after.parameters(), strict=True))
    assert processes.engine_for(torch.device("cpu")).device == torch.device("cpu")
    assert 0 < training.linear_baseline(data.shapes(60, 20, 20, image_size=(12, 8)), epochs=1) < 1


def test_one_process_stays_on_the_device_that_was_named():
    engine = processes.engine_for(torch.device("cuda", 1))
    assert engine.device == torch.device("cuda", 1) and (engine.num_processes, engine.process_index) == (1, 0)


def test_the_baseline_is_trained_on_the_device_of_the_run(tmp_path, monkeypatch):
    asked = []
    stand_in = "vit_course.commands.training_run.linear_baseline"
    monkeypatch.setattr(stand_in, lambda dataset, **options: asked.append(options) or 0.2)
    flags = ["--data", "shapes", "--num-train", "40", "--image-size", "8", "--epochs", "1", "--hidden-dim", "8"]
    assert main(["train", *flags, "--num-heads", "2", "--device", "cpu:0", "--out", str(tmp_path / "run")]) == 0
    assert asked == [{"device": torch.device("cpu", 0)}]


@cases("device", [torch.device("cuda", 1), torch.device("mps"), torch.device("cpu")], ids=str)
def test_dropout_is_that_of_the_model_s_device(device, monkeypatch):
    state, put = torch.arange(16, dtype=torch.uint8), []
    module = {"cuda": torch.cuda, "mps": torch.mps, "cpu": torch}[device.type]
    named = (device,) if device.type == "cuda" else ()
    for other in (torch, torch.cuda, torch.mps):
        monkeypatch.setattr(other, "get_rng_state", lambda *a: torch.zeros(3, dtype=torch.uint8))
        monkeypatch.setattr(other, "set_rng_state", lambda *a: pytest.fail("of another device"))
    monkeypatch.setattr(module, "get_rng_state", lambda *a: state if a == named else None)
    monkeypatch.setattr(module, "set_rng_state", lambda value, *a: put.append((value.tolist(), a)))
    engine = processes.Alone(torch.device("cpu"))
    states = processes.dropout_states(engine, device)
    assert states.tolist() == [state.tolist()]
    processes.restore_dropout(states, engine, device)
    assert put == [(state.tolist(), named)]
    processes.restore_dropout(torch.zeros(1, 5056, dtype=torch.uint8), engine, device)
    assert len(put) == 1, "of another kind of device"
