"""Chapters that a real JupyterLab executes in a real browser; nbval then compares what was shown there.

So one execution answers both questions: does the chapter work where learners open it, and does it print and draw what
is stored? Each day these are the chapters of `EVERY_DAY`, with --thorough all of them; a kernel alone executes the
others, and all of them where there is no browser. What was seen is kept in screenshots/.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path

import psutil
from lab import PATIENCE
from nbval.plugin import IPyNbFile

ROOT = Path(__file__).parents[1]
SCREENSHOTS = ROOT / "screenshots"
EVERY_DAY = frozenset({"00_start_here"})
CELLS = """() => {
    const notebook = window.jupyterapp.shell.currentWidget.content;
    return notebook.widgets.filter(w => w.model.type === 'code').map(w => ({
        source: w.model.sharedModel.getSource(),
        count: w.model.executionCount,
        outputs: w.model.sharedModel.toJSON().outputs,
    }));
}"""
# All cells that could run have run: JupyterLab runs nothing behind an error.
DONE = """() => {
    const status = document.querySelector('.jp-Notebook-ExecutionIndicator')?.dataset.status;
    const cells = window.jupyterapp.shell.currentWidget.content.widgets.filter(w => w.model.type === 'code');
    const failed = cells.some(w => w.model.sharedModel.toJSON().outputs.some(o => o.output_type === 'error'));
    return status === 'idle' && (failed || cells.every(w => w.model.executionCount));
}"""
# What JupyterLab asks or tells by itself, over the chapter.
ASKED = "() => [...document.querySelectorAll('.Toastify__toast, .jp-Dialog')].map(e => e.innerText)"
LOADED = "() => [...document.querySelectorAll('.jp-Notebook img')].every(i => i.complete)"
BROKEN = """() => [...document.querySelectorAll('.jp-Notebook img')].filter(i => !i.naturalWidth)
    .map(i => i.src.slice(0, 100))"""
KEPT = ExitStack()  # what all chapters of a process share, closed at its end


class Replayed:
    """Stands where nbval expects a kernel, and gives what JupyterLab has shown; `faults` are said at the last cell."""

    def __init__(self, cells: list[dict], faults: list[str], seconds: float):
        self.cells, self.faults, self.seconds = cells, faults, seconds
        self.place, self.messages = -1, []

    def execute_cell_input(self, source: str, allow_stdin: bool | None = None) -> int:
        self.place = next(i for i in range(self.place + 1, len(self.cells)) if self.cells[i]["source"] == source)
        cell = self.cells[self.place]
        outputs = list(cell["outputs"])
        if not cell["count"]:
            outputs.append(said("did not run: JupyterLab stopped at an earlier cell"))
        elif self.place == len(self.cells) - 1 and self.faults:
            outputs.append(said("; ".join(self.faults)))
        parent = {"msg_id": self.place}
        self.messages = [
            {"msg_type": output["output_type"], "parent_header": parent, "content": content(output)}
            for output in outputs
        ]
        idle = {"execution_state": "idle"}
        self.messages.append({"msg_type": "status", "parent_header": parent, "content": idle})
        return self.place

    def get_message(self, stream: str, timeout: float | None = None) -> dict:
        return self.messages.pop(0)

    def await_reply(self, *_, **__):
        """The cell has run already."""

    await_idle = stop = interrupt = await_reply

    def is_alive(self) -> bool:
        return True


def said(words: str) -> dict:
    return {"output_type": "error", "ename": "JupyterLab", "evalue": words, "traceback": [f"JupyterLab: {words}"]}


def content(output: dict) -> dict:
    """An output as a kernel's message has it; a notebook's file may hold its text line by line."""
    return {key: "".join(value) if key == "text" else value for key, value in output.items()}


@cache
def browser():
    """The headless Chromium of this process; browser tests use the same one."""
    from lab import BROWSER_FLAGS, chromium
    from playwright.sync_api import sync_playwright

    assert chromium(), "CI needs Chromium: .ci/run installs it"
    playwright = KEPT.enter_context(sync_playwright())
    found = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
    for name in ("new_page", "new_context"):
        setattr(found, name, partial(patient, getattr(found, name)))
    KEPT.callback(found.close)
    return found


def patient(make, **options):
    """A new page or context that waits long; the explorer's hand moves nothing in it while a test looks."""
    made = make(**{"reduced_motion": "reduce", **options})
    made.set_default_timeout(PATIENCE * 1000)
    return made


@cache
def address() -> str:
    """Of a JupyterLab that shows a copy of the notebooks; one for all chapters of this process."""
    from lab import running_lab

    folder = Path(KEPT.enter_context(tempfile.TemporaryDirectory()))
    for name in ("notebooks", "res"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    return KEPT.enter_context(running_lab(f"--ServerApp.root_dir={folder}"))


@contextmanager
def notebook_page(name: str) -> Iterator:
    """A page with one notebook open and its kernel ready; its list `outside` has what it asked of other machines."""
    from lab import note_outside, wait_for_kernel

    page = browser().new_page(viewport={"width": 1200, "height": 1800})
    note_outside(page)
    try:
        page.goto(f"{address()}/lab/tree/notebooks/{name}?reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        wait_for_kernel(page)
        yield page
    finally:
        page.evaluate("() => window.jupyterapp?.serviceManager.sessions.shutdownAll()")
        page.close()


def run_in_lab(name: str) -> Replayed:
    """Opens a notebook in JupyterLab, clears its outputs, runs it by the menu and looks at it from top to end."""
    with notebook_page(name) as page:
        page.evaluate("() => window.jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        assert all(cell["count"] is None for cell in page.evaluate(CELLS))
        page.get_by_role("menuitem", name="Run", exact=True).click()
        page.get_by_text("Run All Cells", exact=True).click()
        page.wait_for_function(DONE, timeout=900_000)
        cells = page.evaluate(CELLS)
        seconds = sum(kernel_seconds())
        faults = look_through(page, name.removesuffix(".ipynb"))
        faults += [f"JupyterLab says, over the chapter: {words}" for words in page.evaluate(ASKED)]
        if page.outside:
            faults.append(f"the page asked for something beyond this machine: {page.outside}")
        return Replayed(cells, faults, seconds)


def look_through(page, stem: str) -> list[str]:
    """Takes screenshots of the notebook from top to end, a window at a time; -> what is wrong with its pictures."""
    SCREENSHOTS.mkdir(exist_ok=True)
    for old in SCREENSHOTS.glob(f"{stem}-*.png"):
        old.unlink()
    # After a run JupyterLab keeps the last cell, the active one, in view.
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 0 }")
    scroller = page.locator(".jp-WindowedPanel-outer").first
    scroller.evaluate("e => { e.scrollTop = 0 }")
    broken, shown = [], 0
    while True:
        page.wait_for_function(LOADED)
        broken += page.evaluate(BROKEN)
        scroller.screenshot(path=SCREENSHOTS / f"{stem}-{shown:02d}.png")
        shown += 1
        # The next window, once the cells in it are drawn.
        moved = scroller.evaluate(
            """async e => {
                const before = e.scrollTop;
                e.scrollTop += e.clientHeight - 60;
                await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
                return e.scrollTop - before;
            }"""
        )
        if moved < 5:
            return [f"a picture that does not load: {source}" for source in sorted(set(broken))]


def kernel_seconds() -> Iterator[float]:
    """Seconds of a processor of each kernel that a JupyterLab of this process runs."""
    for process in psutil.Process().children(recursive=True):
        try:
            if "ipykernel_launcher" in process.cmdline():
                yield sum(process.cpu_times()[:4])
        except psutil.Error:  # it has just ended
            continue


def setup(file: IPyNbFile) -> None:
    """nbval's preparation of a notebook, by JupyterLab where it is one of those."""
    if not by_jupyterlab(file.path.stem, file.config.option.thorough):
        return THEIRS(file)
    from playwright.sync_api import TimeoutError

    file.setup_sanitize_files()
    try:
        file.kernel = run_in_lab(file.path.name)
    except TimeoutError:  # a kernel that does not come up in time says nothing about the notebook
        file.kernel = run_in_lab(file.path.name)
    return None


def by_jupyterlab(stem: str, thorough: bool) -> bool:
    """Whether a chapter is run by JupyterLab: in CI, where a browser has to be, or where there is one."""
    from lab import chromium

    is_chapter = (ROOT / "notebooks" / f"{stem}.ipynb").is_file()
    return is_chapter and (thorough or stem in EVERY_DAY) and bool(chromium() or os.environ.get("CI"))


THEIRS = IPyNbFile.setup


def pytest_configure():
    IPyNbFile.setup = setup


def pytest_sessionfinish():
    KEPT.close()
