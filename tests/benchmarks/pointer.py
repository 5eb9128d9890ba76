"""How long the explorer takes from the pointer's move to the painted frame: 200 moves over a saved page.

    python tests/benchmarks/pointer.py [--size 224 518] [--moves 200]

The page holds the shapes of ViT-S/14 (12 layers, 6 heads of 64) with numbers drawn at random, which take as long as
real ones. What is printed: the median and the 95th percentile in milliseconds, and those of a page that only moves a
small square; `painted.py` says how they are taken.
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


def measured(page, moves: int) -> np.ndarray:
    """-> milliseconds for each of the moves, along a curve over the whole picture."""
    page.evaluate(WATCH)
    return times(page, page.locator(".vit-main").first.bounding_box(), moves)


def report(what: str, milliseconds: np.ndarray) -> None:
    print(f"{what}: {summary(milliseconds)}, {len(milliseconds)} moves")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, nargs="+", default=[224, 518], help="pixels of the square picture")
    parser.add_argument("--moves", type=int, default=200)
    options = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_content(EMPTY)
        report("a page with nothing to draw", measured(page, options.moves))
        page.close()
        for size in options.size:
            side = size // 14
            explorer = AttentionExplorer(**random_panel(layers=12, heads=6, grid=(side, side), dim=64, width=384))
            explorer.save_html(Path(folder) / "page.html", overwrite=True)
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto((Path(folder) / "page.html").as_uri())
            page.wait_for_selector(".vit-grid[data-complete=true]", timeout=60_000)
            report(f"{side * side + 1} tokens", measured(page, options.moves))
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
