"""A real JupyterLab on a copy of the notebooks, for the browser tests, and a real Chromium to look at it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import nbformat

BROWSER_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


# Seconds. Nothing fails for being slow: a limit only ends what hangs.
PATIENCE = 600


def until(happened: Callable[[], bool], page) -> None:
    """Polls until something has happened for which the page itself cannot wait."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        page.wait_for_timeout(50)


def write_notebook(path: Path, sources: list[str], text: str | None = None) -> None:
    """Code cells as a notebook for the kernel of this machine; a source that equals `text` is markdown."""
    new = {True: nbformat.v4.new_markdown_cell, False: nbformat.v4.new_code_cell}
    notebook = nbformat.v4.new_notebook(cells=[new[source == text](source) for source in sources])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


def chromium() -> str | None:
    """The path of a Chromium or Chrome on this machine, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if path := shutil.which(name):
            return path
    return None


@contextmanager
def running_lab(*flags: str) -> Iterator[str]:
    """The course's own `lab` command with further flags, open to everybody; yields the address of the server."""
    with lab_process("--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True", *flags) as (lab, log):
        yield wait_for_address(lab, log)


@contextmanager
def lab_process(*flags: str) -> Iterator[tuple[subprocess.Popen, Path]]:
    """The process of the `lab` command with further flags, and the file that holds what it prints."""
    # An empty profile, as on a new machine: nobody's workspace is touched.
    with tempfile.TemporaryDirectory() as home:
        environment = {
            **os.environ,
            "JUPYTER_CONFIG_DIR": home,
            "JUPYTERLAB_SETTINGS_DIR": str(Path(home, "lab", "user-settings")),
            "JUPYTERLAB_WORKSPACES_DIR": str(Path(home, "lab", "workspaces")),
        }
        environment.pop("JUPYTER_TOKEN", None)  # it would take the place of a new one
        command = [sys.executable, "-m", "vit_course", "lab", "--folder", Path(home, "my_course"), "--no-browser"]
        command += ["--port=0", *flags]
        log = Path(home, "log")
        with log.open("w") as file:
            lab = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)
        try:
            yield lab, log
        finally:
            lab.terminate()
            try:
                lab.wait(20)
            except subprocess.TimeoutExpired:  # it waits for its kernels
                lab.kill()
                lab.wait()


def wait_for_address(lab: subprocess.Popen, log: Path) -> str:
    """Waits until the server answers; -> its address, without the token."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and lab.poll() is None:
        if match := re.search(r"http://(?:localhost|127\.0\.0\.1):\d+", log.read_text()):
            # The address is printed a moment before the server listens. /api needs no token.
            with suppress(urllib.error.URLError):
                urllib.request.urlopen(f"{match[0]}/api", timeout=30).close()
                return match[0]
        time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")


def wait_for_kernel(page) -> None:
    """Waits until the open notebook's kernel is there; run before that, JupyterLab asks which kernel to take."""
    page.wait_for_function(
        """() => {
            const kernel = window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel;
            return kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
        }"""
    )


def run_cell(page, index: int) -> list[dict]:
    """Runs one cell of the open notebook and returns its outputs."""
    return page.evaluate(
        """async index => {
            const notebook = window.jupyterapp.shell.currentWidget.content;
            notebook.activeCellIndex = index;
            await window.jupyterapp.commands.execute('notebook:run-cell');
            return notebook.widgets[index].model.sharedModel.toJSON().outputs;
        }""",
        index,
    )


def note_outside(page) -> None:
    """Makes `page.outside` a list of the page's requests to other machines."""
    inside = ("http://localhost", "http://127.0.0.1", "ws://localhost", "ws://127.0.0.1", "data:", "blob:", "file:")
    page.outside = []
    page.on("request", lambda request: None if request.url.startswith(inside) else page.outside.append(request.url))
