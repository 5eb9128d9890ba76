"""Submissions that are out for marks, or for what is not theirs: none wins any, and honest answers keep theirs."""

import json
import os
import socket

import nbformat
import psutil
import pytest
from conftest import ROOT

from vit_course.checks import EXERCISES
from vit_course.teaching.classroom import isolation, sandbox
from vit_course.teaching.classroom.grade_submission import NotebookGrader, _outputs, read_verdict
from vit_course.teaching.classroom.grading_cell import GradingCell
from vit_course.teaching.classroom.learner_process import CellEnded, LearnerProcess, Limits

pytestmark = pytest.mark.slow

PADDED = "def padded(z, real):\n    return (z[:, 1:] * real[..., None]).sum(1) / real.sum(1, keepdim=True)"
SHARE = (
    "def share(order, rank, world, batch_size):\n    return [batch[rank::world] for batch in order.split(batch_size)]"
)
REPLACES = """
import torch, vit_course.checks
from vit_course.checks.tools import tensors
torch.allclose = torch.equal = lambda *given, **options: True
tensors.agree = tensors.equal = lambda *given, **options: True
torch.Tensor.__eq__ = lambda a, b: True
"""


def graded(folder, *cells):
    """-> ({exercise: its verdict}, the text of each cell's outputs, the notes for the teacher).

    A cell that is the name of an exercise is its grading cell.
    """
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    for cell in made.cells:
        if exercise := EXERCISES.get(cell.source):
            seeds = (1_234_567_890, 1_098_765_432)
            cell.source = GradingCell(exercise.name, exercise.name.split(".")[1], seeds, exercise.points).source
            cell.metadata["nbgrader"] = {"grade": True}
    submission = NotebookGrader(made, folder, sandbox.Sandbox())
    verdicts = {verdict.cell.name: verdict for verdict in submission.grade()}
    return verdicts, [text_of(cell) for cell in made.cells], submission.notes


def text_of(cell) -> str:
    """All that a cell shows as text."""
    shown = (o.get("text") or o.get("data", {}).get("text/plain") or o.get("evalue", "") for o in cell.outputs)
    return "".join(shown)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A submission's folder with files that would take the place of libraries."""
    place = tmp_path_factory.mktemp("submission")
    kind = "raise SystemExit('shadowed')\n"
    for name in ("vit_course/__init__.py", "vit_course/checks/__init__.py", "torch.py", "sitecustomize.py", "json.py"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(kind)
    (place / "helper.py").write_text("number = 7\n")
    (place / "secret").symlink_to(ROOT / "pyproject.toml")
    return place


def test_replaced_functions_are_put_back_and_named_and_no_file_takes_the_place_of_a_library(folder, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(folder))
    verdicts, texts, notes = graded(
        folder,
        "import helper, torch, vit_course\nprint(helper.number, vit_course.__file__)",
        PADDED,
        REPLACES,
        "class_token.padded",
        "def gradient(means, counts):\n    return means.mean(0)",
        "further.gradient",
    )
    assert texts[0].startswith("7 ") and "shadowed" not in "".join(texts)
    assert verdicts["class_token.padded"].points == EXERCISES["class_token.padded"].points
    assert (verdicts["further.gradient"].points, verdicts["further.gradient"].report.mistake) == (0.0, "mean-of-means")
    assert "replaced torch.allclose; it was put back before class_token.padded" in " ".join(notes), notes


def test_what_ends_the_process_costs_its_own_exercise_alone(folder):
    verdicts, texts, notes = graded(
        folder,
        PADDED,
        "exit()",
        "import os; os._exit(0)",
        "class_token.padded",
        "def gradient(means, counts):\n    import os\n    os.abort()",
        "further.gradient",
        "raise ValueError('no')",
        SHARE,
        "further.share",
        "attention.weights",
    )
    assert texts[1] == "" and texts[2] == "the process ended; the notebook continues without this cell"
    points = {name: verdict.points for name, verdict in verdicts.items()}
    assert points == {
        "class_token.padded": EXERCISES["class_token.padded"].points,
        "further.gradient": 0.0,
        "further.share": EXERCISES["further.share"].points,
        "attention.weights": 0.0,
    }
    assert notes == [
        "code cell 3 was given up: the process ended",
        "while further.gradient was checked, the process ended",
    ]
    assert "While `gradient` was checked, the process ended." in texts[5]
    assert "The notebook defines no `weights`" in texts[9]


REPORT = '{"outputs": [{"output_type": "display_data", "data": {"application/json": %s}}]}'
REPORTS = [
    '{"replaced": null, "reports": [{"score": 100, "mistake": null, "text": "x"}]}',
    '{"replaced": null, "reports": [{"score": NaN, "mistake": null, "text": "x"}]}',
    '{"replaced": null, "reports": [{"score": "1", "mistake": 7, "text": ["x"]}]}',
    "[[[]]]",
]


@pytest.mark.parametrize("said", REPORTS)
def test_a_report_that_is_none_is_no_mark(said):
    with pytest.raises((LookupError, TypeError, ValueError, AttributeError)):
        read_verdict(GradingCell("further.share", "shares", (), 4.0), json.loads(REPORT % said)["outputs"])


def test_a_report_speaks_to_no_terminal():
    said = '{"replaced": "\\u001b[2J", "reports": [{"score": 0, "mistake": "a\\u0007", "text": "x\\n\\u001b]0;mine"}]}'
    outputs = json.loads(REPORT % said)["outputs"]
    verdict, replaced = read_verdict(GradingCell("further.share", "shares", (), 4), outputs)
    assert (verdict.report.text, verdict.report.mistake, replaced) == ("x\n\\x1b]0;mine", "a\\x07", "\\x1b[2J")


@pytest.mark.thorough
@pytest.mark.parametrize("signal", ["SIGSTOP", "SIGKILL"])
def test_a_program_that_is_stopped_or_killed_ends_its_cell(folder, signal):
    with LearnerProcess(folder, sandbox.Sandbox()) as made, pytest.raises(CellEnded, match=r"process ended|had passed"):
        made.run(f"import os, signal\nos.kill(os.getppid(), signal.{signal})", 5)


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
def test_a_container_without_limits_does_not_count_as_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    program = tmp_path / "podman"
    for shown, works in (("2147483648 256", True), ("9223372036854771712", False), ("2147483648 max", False)):
        program.write_text(f"#!/bin/sh\necho ok {shown}\n")
        program.chmod(0o755)
        assert (isolation.SANDBOXES["podman"].why_not() == "") is works, shown


def test_outputs_of_strange_types_are_left_out():
    strange = [5, {"output_type": []}, {"output_type": "display_data", "data": [], "metadata": {}}]
    strange += [{"output_type": "stream", "name": [], "text": "x"}, {"output_type": "error", "traceback": None}]
    good = {"output_type": "stream", "name": "stdout", "text": "x"}
    assert _outputs([*strange, good]) == [good]


@pytest.fixture(scope="module", params=[*isolation.SANDBOXES, "unprotected"])
def process(request, folder, tmp_path_factory):
    """A process in every way that this machine has."""
    way = isolation.SANDBOXES.get(request.param, sandbox.Sandbox())
    if request.param in isolation.SANDBOXES and way.why_not():
        pytest.skip(f"{request.param} is not installed, or starts no process here")
    course = tmp_path_factory.mktemp("course")
    (course / "gradebook.db").write_text("precious")
    with LearnerProcess(folder, way, Limits(memory=1.0, processes=120, disk=0.25), (course,)) as made:
        made.course, made.way = course, request.param
        yield made


@pytest.fixture
def isolated(process):
    if process.way == "unprotected":
        pytest.skip("without isolation none of this is promised")
    return process


def said(process, source):
    outputs, _ = process.run(source, 100)
    return "".join(output.get("text") or output.get("evalue") or str(output.get("data")) for output in outputs)


def test_the_course_is_out_of_sight_and_reach(isolated):
    book = isolated.course / "gradebook.db"
    assert "precious" not in said(isolated, f"print(open({str(book)!r}).read())")
    said(isolated, f"open({str(book)!r}, 'w').write('mine')\n")
    said(isolated, f"import os, signal\nos.kill({os.getpid()}, signal.SIGTERM)")
    assert book.read_text() == "precious"
    assert "root:" not in said(isolated, "print(open('/etc/shadow').read())")


def test_no_socket_leads_out(isolated, tmp_path):
    path = tmp_path / "agent"
    with socket.socket(socket.AF_UNIX) as agent, socket.create_server(("127.0.0.1", 0)) as server:
        agent.bind(str(path))
        agent.listen()
        for family, address in (("AF_UNIX", str(path)), ("AF_INET", server.getsockname())):
            code = f"import socket\nsocket.socket(socket.{family}).connect({address!r}); print('reached')"
            assert "reached" not in said(isolated, code)


def test_links_stay_behind(process):
    listed = said(process, "import os; print(sorted(os.listdir('.')))")
    assert "helper.py" in listed and "secret" not in listed


def test_honest_code_costs_nothing(process):
    assert "echoed" in said(process, "!echo echoed")
    assert "10" in said(process, (
        "import torch\nfrom torch.utils.data import DataLoader\n"
        "print(sum(len(b) for b in DataLoader(torch.arange(10), batch_size=3, num_workers=2)))"
    ))  # fmt: skip
    assert "done" in said(
        process, "import subprocess\nprint(subprocess.run(['echo', 'done'], capture_output=True).stdout)"
    )
    assert "image/png" in said(process, "import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    assert "RGB" in said(process, (
        "from vit_course.data.photographs import photographs\nprint(next(iter(photographs().values())).open().mode)"
    ))  # fmt: skip
    assert "['a', 'b']" in said(process, "lines = !printf 'a\\nb'\nlist(lines)")
    assert "function" in said(process, (
        "from vit_course.checks.tools import chapter\n"
        "print(type(*chapter.of_chapter('04_attention', 'error_after_training')))"
    ))  # fmt: skip


def test_memory_and_processes_are_limited(process):
    said(process, "import torch\ntorch.ones(2**30)")  # 4 GB
    assert "still here" in said(process, "print('still here')"), "too large an allocation is an error like any other"
    bomb = (
        "import os, time\nfor _ in range(200):\n    try:\n        if os.fork() == 0:\n            time.sleep(60)\n"
        "            os._exit(0)\n    except OSError as error:\n        print(type(error).__name__); break\n"
        "else:\n    print('all of them'); time.sleep(30)"
    )
    try:
        assert "all of them" not in said(process, bomb)
    except CellEnded as error:
        assert "processes" in str(error), error


FILLS = """
import os
try:
    for number in range(40):
        with open(f"{place}/filled{number}", "wb") as file:
            file.write(bytes(2**24))
except OSError as error:
    print(error.strerror)
for name in os.listdir("{place}"):
    if name.startswith("filled"):
        os.remove(f"{place}/" + name)
"""
HOARDS = """
import os, time
for number in range(40):
    one = os.memfd_create(str(number))
    os.write(one, bytes(2**26))
time.sleep(60)
"""
STAYS = "import subprocess\nsubprocess.Popen(['sleep', '98765'], start_new_session=True); print('started')"


def test_what_lies_in_memory_or_on_the_disk_is_limited_and_no_process_stays(folder):
    way = isolation.SANDBOXES["bubblewrap"]
    if way.why_not():
        pytest.skip("bubblewrap is not installed, or starts no process here")
    with LearnerProcess(folder, way, Limits(memory=1.0, disk=0.25)) as made:
        for place in (".", "/tmp", "/dev/shm"):
            assert "No space left" in said(made, FILLS.replace("{place}", place)), place
        assert "started" in said(made, STAYS)
        with pytest.raises(CellEnded, match="more memory than the 1 GB"):
            said(made, HOARDS)
    assert not [one for one in psutil.process_iter(["cmdline"]) if "98765" in (one.info["cmdline"] or ())]
