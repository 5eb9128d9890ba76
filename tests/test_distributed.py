"""Several processes over gloo, started as a user starts them, give what one process gives."""

import sys

import pytest
import torch
from torchrun import TORCHRUN, TRAIN, rows, run

from vit_course.files.weights import load_weights


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    code, _, errors = run(sys.executable, "-m", "vit_course", *TRAIN, "--out", "run", cwd=folder)
    assert code == 0, errors
    return folder / "run"


def assert_the_same_run(folder, alone, tolerance=1e-4):
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in alone.iterdir())
    for ours, reference in zip(rows(folder), rows(alone), strict=True):
        assert ours == pytest.approx(reference, abs=tolerance)
    for name in ("best.safetensors", "last.safetensors"):
        ours, reference = load_weights(folder / name)[0], load_weights(alone / name)[0]
        for key, value in reference.items():
            if not key.startswith("random.dropout"):  # one row a process
                torch.testing.assert_close(ours[key], value, rtol=0, atol=tolerance)


@pytest.mark.slow
def test_two_processes_give_the_run_of_one(alone, tmp_path):
    code, output, errors = run(*TORCHRUN, "-m", "vit_course", *TRAIN, "--out", "run", cwd=tmp_path)
    assert code == 0, errors
    assert output.count("2 processes share each batch of 64 images") == 1
    assert output.count("epoch 3/3: train loss") == 1 and output.count("test accuracy") == 1  # one writes
    assert_the_same_run(tmp_path / "run", alone)


@pytest.mark.thorough
def test_the_recipe_rules_whatever_the_launcher_is_told(alone, tmp_path):
    # On CPUs `accelerate launch` starts several processes through MPI alone, so here it starts one.
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes=1", "--num_machines=1"]
    told = ["--mixed_precision=bf16", "--gradient_accumulation_steps=4", "--dynamo_backend=no"]
    code, _, errors = run(*launch, *told, "-m", "vit_course", *TRAIN, "--out", "run", cwd=tmp_path)
    assert code == 0, errors
    assert_the_same_run(tmp_path / "run", alone, tolerance=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("start", "more"),
    [
        ([sys.executable], ["--accumulate", "3"]),
        ([*TORCHRUN], ["--accumulate", "3"]),
    ],
    ids=["accumulated", "accumulated on two"],
)
def test_parts_of_a_batch_give_the_same_run(start, more, alone, tmp_path):
    code, _, errors = run(*start, "-m", "vit_course", *TRAIN, *more, "--out", "run", cwd=tmp_path)
    assert code == 0, errors
    assert_the_same_run(tmp_path / "run", alone)


@pytest.mark.thorough
def test_more_processes_resume_what_one_began(alone, tmp_path):
    command = ["-m", "vit_course", *TRAIN, "--out", "run"]
    code, _, _ = run(sys.executable, "-c", KILLED_AFTER_TWO, *command[2:], cwd=tmp_path)
    assert code == 7 and len(rows(tmp_path / "run")) == 2
    code, _, errors = run(*TORCHRUN, *command, "--resume", cwd=tmp_path)
    assert code == 0, errors
    assert_the_same_run(tmp_path / "run", alone)


KILLED_AFTER_TWO = """
import os, sys
from vit_course.training import run_folder
from vit_course.__main__ import main
real = run_folder.write_csv
def once(path, history):
    real(path, history)
    if len(history) == 2:
        os._exit(7)
run_folder.write_csv = once
main(sys.argv[1:])
"""


DIES_WITHIN_AN_EPOCH = """
import os, sys
from vit_course.training import optimisers
from vit_course.__main__ import main
real, steps = optimisers.Stepper.step, []
def step(*arguments):
    steps.append(1)
    if os.environ["RANK"] == "1" and len(steps) == 8:  # 5 steps an epoch: in the second
        os._exit(9)
    return real(*arguments)
optimisers.Stepper.step = step
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.thorough
def test_two_processes_resume_what_two_began(tmp_path):
    # Dropout draws in each process from a generator of its own: their states must come back to the right one.
    command = [*TRAIN, "--dropout", "0.2", "--attention-dropout", "0.1"]
    code, _, errors = run(*TORCHRUN, "-m", "vit_course", *command, "--out", "whole", cwd=tmp_path)
    assert code == 0, errors
    (tmp_path / "script.py").write_text(DIES_WITHIN_AN_EPOCH)
    code, _, errors = run(*TORCHRUN, "script.py", *command, "--out", "cut", cwd=tmp_path)
    assert code != 0 and "exitcode  : 9" in errors and len(rows(tmp_path / "cut")) == 1
    code, _, errors = run(*TORCHRUN, "-m", "vit_course", *command, "--out", "cut", "--resume", cwd=tmp_path)
    assert code == 0, errors
    whole, cut = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("whole", "cut"))
    assert set(whole) == set(cut)
    for name in ("best.safetensors", "last.safetensors", "log.csv", "config.json"):
        assert whole[name] == cut[name], name
    states = load_weights(tmp_path / "cut" / "last.safetensors")[0]["random.dropout"]
    assert len(states) == 2 and not torch.equal(*states), "each process drew numbers of its own"


@pytest.mark.thorough
def test_two_processes_are_refused_as_one(alone, tmp_path):
    code, output, errors = run(*TORCHRUN, "-m", "vit_course", *TRAIN, "--out", alone, cwd=tmp_path)
    assert code != 0 and "epoch 1" not in output
    assert errors.count(f"error: {alone} holds a run already") == 2


@pytest.mark.thorough
def test_a_process_that_dies_ends_the_others(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\nfrom vit_course.training import loop\nfrom vit_course.__main__ import main\n"
        "real = loop.evaluate\n"
        "def dies(*a, **k):\n    os._exit(9) if os.environ['RANK'] == '1' else None\n    return real(*a, **k)\n"
        "loop.evaluate = dies\nmain(sys.argv[1:])\n"
    )
    code, _, errors = run(*TORCHRUN, script, *TRAIN, "--out", "run", cwd=tmp_path)
    assert code != 0 and "exitcode  : 9" in errors
    # Whether the other one could still give back its lock depends on how it came to its end.
    assert {path.name for path in tmp_path.glob("run/*")} <= {".lock"}
