"""The program inside the sandbox: runs a submission's cells in a Jupyter kernel, by nbclient, as a notebook does.

`LearnerProcess` starts it. Each line of its standard input is the source of a cell as JSON, and it answers each with a
line of JSON, the cell's outputs. The kernel's standard files are /dev/null, so that cells cannot write between them.
"""

import ctypes
import json
import os
import platform
import shutil
import sys
from pathlib import Path

from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from vit_course.teaching.classroom.grading_cell import REPORT_MIME, SAFE_MIMES
from vit_course.teaching.classroom.list_files import plain_files

START_SECONDS = 120
MOST_PRINTED = 2**20  # characters that one cell prints
MOST_SHOWN = 6 * 2**20  # characters of all its outputs, pictures included
# Executed before the first cell. The name begins with an underscore, so that it meets no name of a submission.
SETUP = "from vit_course.teaching.classroom import judge as _judge\n_judge.prepare({limits})"


def main(settings: dict) -> None:
    """Starts the kernel, says that it is ready, and runs cells until standard input ends."""
    incoming, outgoing = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    sys.stderr = os.fdopen(os.dup(2), "w")
    for number in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    _leave_session_keyring()
    _make_home(settings)
    os.environ |= {"PYTHONPATH": os.pathsep.join(settings["path"]), "PYTHONSAFEPATH": "1", "PYTHONNOUSERSITE": "1"}
    # The current folder is not on the path at first: `judge.prepare` adds it behind the libraries.
    options = dict(kernel_name="python3", extra_arguments=["--InteractiveShellApp.ignore_cwd=True"])
    options |= dict(timeout=None, startup_timeout=START_SECONDS, allow_errors=True, coalesce_streams=True)
    client = NotebookClient(new_notebook(), **options)
    with client.setup_kernel():
        setup = _execute(client, SETUP.format(limits=settings["limits"]), store_history=False)
        for output in setup.outputs:
            raise SystemExit(f"{output.ename}: {output.evalue}" if output.output_type == "error" else str(output))
        print("ready", file=outgoing, flush=True)
        for line in incoming:
            cell = _execute(client, json.loads(line))
            reply = {"outputs": _shown(cell.outputs), "count": cell.execution_count}
            print(json.dumps(reply), file=outgoing, flush=True)


def _execute(client: NotebookClient, source: str, **options):
    client.nb.cells.append(new_code_cell(source))
    return client.execute_cell(client.nb.cells[-1], len(client.nb.cells) - 1, **options)


def _shown(outputs: list) -> list[dict]:
    # Text and pictures, up to a limit.
    shown, room = [], MOST_SHOWN
    for output in outputs:
        if output.output_type == "stream":
            more = "\n... (more is not kept)\n" if len(output.text) > MOST_PRINTED else ""
            output.text = output.text[:MOST_PRINTED] + more
        elif output.output_type == "error":
            output.traceback = output.traceback[:200]
        else:
            output.data = {kind: value for kind, value in output.data.items() if kind in (REPORT_MIME, *SAFE_MIMES)}
        room -= len(json.dumps(output))
        if room > 0:
            shown.append(output)
    return shown


def _leave_session_keyring() -> None:
    # The teacher's session may keep keys there: keyctl(2) with KEYCTL_JOIN_SESSION_KEYRING begins an empty one.
    number = {"x86_64": 250, "aarch64": 219}.get(platform.machine())
    if sys.platform == "linux" and number:
        ctypes.CDLL(None).syscall(number, 1, None)


def _make_home(settings: dict) -> None:
    home, given = Path(settings["home"]), Path(settings["submission"])
    for name in ("work", "tmp", "home"):
        (home / name).mkdir(parents=True, exist_ok=True)
    for inner in plain_files(given):
        (home / "work" / inner).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(given / inner, home / "work" / inner)
    shutil.copytree(settings["fonts"], home / "home" / "matplotlib")
    os.chdir(home / "work")
