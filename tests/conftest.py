"""Fixtures and helpers that several test files share."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def pytest_make_parametrize_id(val, argname):
    """Names a row after its argument where its value is too long for a name."""
    long = val.bit_length() > 64 if isinstance(val, int) else isinstance(val, (str, bytes)) and len(val) > 60
    return argname if long else None


def thoroughly(*values) -> list:
    """Values for `pytest.mark.parametrize` that only the thorough tests try."""
    return [pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.thorough) for one in values]


def python(*arguments, cwd=ROOT, timeout=None, **environment) -> subprocess.CompletedProcess:
    """Runs this Python with these arguments to the end; the result has its exit code, and its output as text."""
    command, given = [sys.executable, *map(str, arguments)], {**os.environ, **environment}
    return subprocess.run(command, cwd=cwd, env=given, capture_output=True, text=True, timeout=timeout, check=False)


def hears_interrupts() -> None:
    """Called in a new process, restores Ctrl+C, which processes ignore that a shell has started in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def seed() -> None:
    """The same random state each time."""
    import torch

    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same random state."""
    import torch

    seed()
    # PyTorch caches the functions that it finds at the first use of a device context, and transformers replaces them
    # while it loads a model: so the first use is here.
    with torch.device("meta"):
        torch.empty(0)


@pytest.fixture
def float64():
    """Computes in float64, for mathematical equalities, so that rounding cannot hide an error."""
    import torch

    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="session")
def thorough(request) -> bool:
    """Whether pytest runs with --thorough, for tests that then try more cases of the same kind."""
    return request.config.option.thorough


@pytest.fixture(scope="session")
def some(thorough):
    """A function that returns the first `daily` of several cases, or with --thorough all of them."""
    return lambda cases, daily=1: list(cases) if thorough else list(cases)[:daily]


@pytest.fixture(scope="session")
def dataset():
    """100 training images, which is no multiple of 32: the last batch is short."""
    from vit_course import data

    return data.shapes(100, 40, 40, image_size=(12, 8))


@pytest.fixture
def odd_images():
    """(2, 3, 8, 12): all sizes differ, so that every transposition shows."""
    import torch

    return torch.randn(2, 3, 8, 12)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium, shared by all browser tests of a process."""
    import in_jupyterlab

    return in_jupyterlab.browser()


def built_once(tmp_path_factory, name: str, build) -> Path:
    """The folder of this name, which `build` writes once for all test processes of a run."""
    from filelock import FileLock

    run = tmp_path_factory.getbasetemp()
    run = run.parent if "PYTEST_XDIST_WORKER" in os.environ else run  # each process has a folder of its own in it
    out, whole = run / "built" / name, run / f"{name}.whole"
    with FileLock(run / f"{name}.lock"):
        if not whole.exists():
            build(out)
            whole.touch()
    return out


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, built as the README says."""

    def build(out: Path) -> None:
        done = python("-m", "vit_course", "site", "-o", out)
        assert done.returncode == 0, done.stderr
        assert str(out / "index.html") in done.stdout

    return built_once(tmp_path_factory, "site", build)


@pytest.fixture(scope="session")
def live_folder(tmp_path_factory):
    """The folder of the live page. No test may change it."""
    from vit_course.explorer.live_page import write_live

    return built_once(tmp_path_factory, "live", write_live)


@pytest.fixture(scope="session")
def kit(tmp_path_factory):
    """The teacher's folder, as the command writes it."""
    out = tmp_path_factory.mktemp("teacher") / "my kit"
    done = python("-m", "vit_course", "kit", out)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert str(out / "index.html") in done.stdout
    return out


@pytest.fixture
def opened(browser, site):
    """A function that opens a page of the site."""
    with opening(browser, site) as open_page:
        yield open_page


@contextmanager
def opening(browser, folder: Path):
    """A function that opens a page of a folder; at the end, asserts that no page loaded other files or had an error."""
    pages = []

    def open_page(name: str, script: str = "", **settings):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 950}} | settings)
        page = context.new_page()
        page.add_init_script(script)
        page.asked, page.errors = [], []
        context.on("request", lambda request: page.asked.append(request.url))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda said: page.errors.append(said.text) if said.type == "error" else None)
        pages.append(page)
        file, _, query = name.partition("?")
        page.goto((folder / file).as_uri() + (f"?{query}" if query else ""))
        page.wait_for_load_state("load")
        return page

    yield open_page
    for page in pages:
        inside = (folder.as_uri(), "data:", "blob:", "about:blank")
        assert page.asked and [url for url in page.asked if not url.startswith(inside)] == []
        assert page.errors == []
        page.context.close()
