"""Ctrl+C: one line and exit code 130, and a training keeps its last epoch and says how to go on."""

import os
import signal
import subprocess
import sys

import pytest
from conftest import ROOT, hears_interrupts

from vit_course import training
from vit_course.__main__ import main

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="Windows sends no signal to one process")]
SIZES = ["--num-train", "60", "--image-size", "8", "--hidden-dim", "8", "--num-heads", "2", "--epochs", "100000"]


def test_a_training_keeps_its_last_epoch_and_says_how_to_go_on(tmp_path):
    arguments = ["train", *SIZES, "--out", str(tmp_path / "run")]
    command, pipes = [sys.executable, "-m", "vit_course", *arguments], dict(stdout=subprocess.PIPE, text=True)
    with subprocess.Popen(command, cwd=ROOT, preexec_fn=hears_interrupts, stderr=subprocess.PIPE, **pipes) as process:
        while "epoch 2/" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130
    words = f"stopped; the same command with --resume continues from the last complete epoch in {tmp_path / 'run'}"
    assert errors == f"\n{words}\n"
    _, metadata = training.load_weights(tmp_path / "run" / "last.safetensors")
    assert metadata["history"] and not list((tmp_path / "run").glob(".*"))


def test_any_other_command_says_that_it_was_stopped(monkeypatch, capsys):
    def pressed(options):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("vit_course.commands.check.run", pressed)
    assert main(["check"]) == 130
    assert capsys.readouterr() == ("", "\nstopped\n")
