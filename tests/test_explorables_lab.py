"""An explorable in a real JupyterLab: a learner's function answers while something moves, and Python has the state."""

import json

import pytest
from explored import NEEDS_CHROMIUM, SCREENSHOTS, watch
from lab import run_cell, running_lab, until, wait_for_kernel, write_notebook

pytestmark = [NEEDS_CHROMIUM, pytest.mark.thorough]
CELLS = [
    "import torch\nfrom vit_course import explorables\n\n"
    "def even(q, k):\n    return torch.full((1, q.shape[1], 4, 4), 0.25)\n\n"
    "def broken(q, k):\n    return q @ k\n\nmine = explorables.attention_by_hand(even)",
    "mine",
    "print(mine.state['asking'], mine.state['queries'][2])",
    "mine.state = {'asking': 3, 'heads': 2}",
    "explorables.attention_by_hand(broken)",
    "explorables.cutter()",
]
FIGURE = ".jp-OutputArea .vit-play"


@pytest.fixture(scope="module")
def page(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebooks")
    write_notebook(folder / "play.ipynb", CELLS)
    with running_lab(f"--ServerApp.root_dir={folder}") as address:
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        watch(page)
        page.goto(f"{address}/lab/tree/play.ipynb?reset")
        wait_for_kernel(page)
        for index in range(2):
            run_cell(page, index)
        page.wait_for_selector(f"{FIGURE}[data-drawn='true']")
        yield page
        page.close()


def said(page, index=0) -> tuple[str, str]:
    """-> whose function computes, and the words."""
    figure = page.locator(FIGURE).nth(index)
    return figure.locator(".play-whose").inner_text(), figure.locator(".play-words").inner_text()


def test_a_learners_function_answers_and_python_has_what_was_dragged(page):
    whose, words = said(page)
    assert whose == "Computed by your function." and "weight 25\u00a0%" in words
    assert not page.locator(".jp-OutputArea-output img").is_visible(), "the still gives way to the live figure"
    page.locator(FIGURE).get_by_text("2", exact=True).first.click()
    handle = page.locator(f"{FIGURE} [aria-label='query of token 2']")
    handle.focus()
    handle.press("ArrowUp")
    page.wait_for_selector(f"{FIGURE}[data-drawn='true']")
    until(lambda: "".join(output["text"] for output in run_cell(page, 2)).strip() == "2 [0.4, -1.7]", page)
    page.screenshot(path=SCREENSHOTS / "play_lab.png")


def test_what_python_sets_is_shown_and_a_function_that_fails_is_told(page):
    run_cell(page, 3)
    page.wait_for_function(f"document.querySelector('{FIGURE}').innerText.includes('of its output comes from head 0')")
    run_cell(page, 4)
    page.wait_for_function(f"document.querySelectorAll('{FIGURE}[data-drawn=\"true\"]').length === 2")
    whose, words = said(page, 1)
    assert whose.startswith("Your function did not answer, so the page computes with its own: RuntimeError: ")
    assert "Token 0 reads token 1 the most: weight 50\u00a0%" in words
    assert page.outside == [] and page.errors == [], json.dumps(page.errors)


def test_the_lists_of_jupyterlab_leave_those_of_a_figure_alone(page):
    run_cell(page, 5)
    counts = page.locator(f"{FIGURE}[data-name='cutter'][data-drawn='true'] .cut-counts")
    counts.wait_for()
    words, whole = (counts.locator(part).first.bounding_box()["width"] for part in ("dt", "dl"))
    assert words > 0.9 * whole, "a fifth of it, by JupyterLab's rule"
