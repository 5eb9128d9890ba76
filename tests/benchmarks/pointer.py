"""How long the explorer takes from the pointer's move to the painted frame: 200 moves over a saved page.

    python tests/benchmarks/pointer.py [--size 224 518] [--moves 200]

The page holds the shapes of ViT-S/14 (12 layers, 6 heads of 64) with numbers drawn at random, which take as long as
real ones. What is printed: the median and the 95th percentile in milliseconds, and how many times those of a page that
only moves a small square; `painted.py` says how they are taken. The pages take turns, as other programs may run.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from explored import random_panel
from lab import BROWSER_FLAGS, chromium
from painted import EMPTY, WATCH, summary, times

from vit_course.explorer import AttentionExplorer

TURNS = 4  # the first one warms up


def measured(page, moves: int) -> np.ndarray:
    """-> milliseconds for each of the moves, along a curve over the whole picture."""
    page.bring_to_front()
    return times(page, page.locator(".vit-main").first.bounding_box(), moves)


def opened(browser, folder: Path, size: int):
    """-> a page with an explorer of a square picture of this size; of an empty one if the size is 0."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    if size:
        side = size // 14
        explorer = AttentionExplorer(**random_panel(layers=12, heads=6, grid=(side, side), dim=64, width=384))
        explorer.save_html(folder / "page.html", overwrite=True)
        page.goto((folder / "page.html").as_uri())
        page.wait_for_selector(".vit-grid[data-complete=true]", timeout=600_000)
    else:
        page.set_content(EMPTY)
    page.evaluate(WATCH)
    return page


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, nargs="+", default=[224, 518], help="pixels of the square picture")
    parser.add_argument("--moves", type=int, default=200)
    options = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        pages = {size: opened(browser, Path(folder), size) for size in (0, *options.size)}
        each = -(-options.moves // (TURNS - 1))
        found = [[measured(page, each) for page in pages.values()] for _ in range(TURNS)][1:]
        empty = None
        for size, taken in zip(pages, zip(*found, strict=True), strict=True):
            milliseconds = np.concatenate(taken)
            middle, late = np.percentile(milliseconds, [50, 95])
            what = f"{(size // 14) ** 2 + 1} tokens" if size else "a page with nothing to draw"
            empty = empty or (middle, late)
            ratio = f"{middle / empty[0]:.2f} and {late / empty[1]:.2f} times the empty page"
            print(f"{what}: {summary(milliseconds)}, {ratio}, {len(milliseconds)} moves")
        browser.close()


if __name__ == "__main__":
    main()
