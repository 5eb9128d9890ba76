"""Ctrl+C while a class is graded: one plain line at the end, nothing half graded, and the rest is graded later."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from conftest import ROOT, hears_interrupts, thoroughly
from small_class import ASSIGNMENT, Submission, chapters, only

from vit_course.teaching.classroom.course import make_course

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="Windows sends no signal to one process")]
SLEEP = ["sleep", str(90_000 + os.getpid())]  # a process that can be seen from outside every sandbox
WAITS = f"import subprocess\nsubprocess.run({SLEEP})"


def learners_processes() -> list[psutil.Process]:
    """Those that the learner's cell has started."""
    return [one for one in psutil.process_iter(["cmdline"]) if one.info["cmdline"] == SLEEP]


@pytest.mark.parametrize("to_all", [True, *thoroughly(False)], ids=["Ctrl+C", "kill"])
def test_a_stopped_grading_says_so_in_its_last_line(tmp_path, to_all):
    course = tmp_path / "course"
    make_course(chapters(tmp_path), course)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    made = [sys.executable, "-m", "nbgrader", "generate_assignment", ASSIGNMENT, "--create"]
    assert subprocess.run(made, cwd=course, env=environment, capture_output=True).returncode == 0
    Submission(only(WAITS)).hand_in(course / "submitted", "ada", course / "release" / ASSIGNMENT)
    command = [sys.executable, "-m", "vit_course", "classroom", "grade", str(course), ASSIGNMENT, "--unprotected"]
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, start_new_session=True, preexec_fn=hears_interrupts, **pipes
    ) as process:
        end = time.monotonic() + 600
        while not learners_processes():
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.2)
        (os.killpg if to_all else os.kill)(process.pid, signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in errors and len(errors.splitlines()) < 8, errors
    assert errors.endswith("\nstopped; what was graded before is kept; the same command grades the rest\n")
    assert not (course / "autograded" / "ada" / ASSIGNMENT).exists()
    assert not psutil.wait_procs(learners_processes(), timeout=10)[1], "what the learner's cell has started has ended"
