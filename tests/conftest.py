"""What several test files share."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def seeded():
    """Every test starts from the same random state."""
    import torch

    torch.manual_seed(0)
    # PyTorch keeps the functions that it finds here first, and transformers puts its own there while it loads a model.
    with torch.device("meta"):
        torch.empty(0)


@pytest.fixture(scope="session")
def thorough(request) -> bool:
    """Whether time does not matter: for a test that then tries more cases of the same kind."""
    return request.config.option.thorough


@pytest.fixture(scope="session")
def some(thorough):
    """A function that gives the first few of several cases every day, and with --thorough all of them."""
    return lambda cases, daily=1: list(cases) if thorough else list(cases)[:daily]


@pytest.fixture
def odd_images():
    """(2, 3, 8, 12): every size different, so that no transposition slips through."""
    import torch

    return torch.randn(2, 3, 8, 12)


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium, shared by all browser tests of a process."""
    import in_lab

    return in_lab.browser()


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, built once for all test processes, as the README says."""
    from filelock import FileLock

    # The processes' own folders lie in one of the run.
    run = tmp_path_factory.getbasetemp()
    run = run.parent if "PYTEST_XDIST_WORKER" in os.environ else run
    out = run / "built" / "site"
    with FileLock(run / "site.lock"):
        if not (out / "index.html").is_file():
            command = [sys.executable, "-m", "vit_course", "site", "-o", str(out)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert str(out / "index.html") in done.stdout
    return out


@pytest.fixture(scope="session")
def kit(tmp_path_factory):
    """The teacher's folder, as the command writes it."""
    out = tmp_path_factory.mktemp("teacher") / "my kit"
    command = [sys.executable, "-m", "vit_course", "kit", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert str(out / "index.html") in done.stdout
    return out


@pytest.fixture
def opened(browser, site):
    """A function that opens a page of the site; what it asks of other machines and its errors are counted."""
    pages = []

    def open_page(name: str, script: str = "", **settings):
        page = browser.new_page(**{"viewport": {"width": 1280, "height": 950}} | settings)
        page.add_init_script(script)
        page.outside, page.errors = [], []
        page.on("request", lambda request: page.outside.append(request.url))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda said: page.errors.append(said.text) if said.type == "error" else None)
        pages.append(page)
        file, _, query = name.partition("?")
        page.goto((site / file).as_uri() + (f"?{query}" if query else ""))
        page.wait_for_load_state("load")
        return page

    yield open_page
    for page in pages:
        assert [url for url in page.outside if not url.startswith(("file:", "data:"))] == []
        assert page.errors == []
        page.close()
