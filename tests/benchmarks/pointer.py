"""How long the explorer takes from the pointer's move to the painted frame: 200 moves over a saved page.

    python tests/benchmarks/pointer.py [--size 224 518] [--moves 200]

The page holds the shapes of ViT-S/14 (12 layers, 6 heads of 64) with numbers drawn at random, which take as long as
real ones. A time is counted from the browser's own stamp of the event to the first task after the frame that shows it.
What is printed: the median and the 95th percentile in milliseconds, and those of a page that only moves a small square:
what the browser itself takes, most of it the wait for the next frame.
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

from vit_course.explorer import AttentionExplorer

WATCH = """() => {
    window.times = [];
    const channel = new MessageChannel();
    const open = [];
    channel.port1.onmessage = () => { while (open.length) times.push(performance.now() - open.pop()); };
    document.querySelector(".vit-main").addEventListener("pointermove", (event) => {
        open.push(event.timeStamp);
        requestAnimationFrame(() => channel.port2.postMessage(0));
    }, true);
}"""
EMPTY = """<div class="vit-main" style="width: 560px; height: 560px"><i style="position: absolute">.</i></div><script>
document.querySelector(".vit-main").onpointermove = (e) => (document.querySelector("i").style.left = `${e.clientX}px`);
</script>"""


def measured(page, moves: int) -> np.ndarray:
    """-> milliseconds for each of the moves, along a curve over the whole picture."""
    box = page.locator(".vit-main").first.bounding_box()
    page.evaluate(WATCH)
    for move in range(moves):
        angle = 2 * np.pi * move / moves
        x, y = (np.sin(3 * angle) + 1) / 2, (np.sin(2 * angle + 0.5) + 1) / 2
        page.mouse.move(box["x"] + (0.01 + 0.98 * x) * box["width"], box["y"] + (0.01 + 0.98 * y) * box["height"])
        page.wait_for_function("count => window.times.length >= count", arg=move + 1)
    return np.array(page.evaluate("window.times"))


def report(what: str, times: np.ndarray) -> None:
    median, late = np.percentile(times, [50, 95])
    print(f"{what}: median {median:.1f} ms, 95th percentile {late:.1f} ms, {len(times)} moves")


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
