"""How long an explorable takes from the pointer's move to the painted frame, and how ten of them share a page.

    python tests/benchmarks/play.py [NAME ...] [--moves 200] [--rounds 5] [--seconds 2]

The first handle of each is dragged along a curve over its whole drawing by the browser's own mouse events; on an empty
page the same drag moves a small square. The two take turns, so that a busy machine is busy for both: read the ratio and
the difference, not the milliseconds. `painted.py` says how the milliseconds are taken. Then one after the other is
dragged on the page that holds all of them, with a move every 8 ms: pictures per second, and how many came more than
one frame of 60 Hz after the one before, again beside the empty page.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from lab import BROWSER_FLAGS, chromium
from painted import EMPTY, WATCH, curve, summary, times

from vit_course.explorables.gallery import ABOUT, write_pages

LATE = 17.5  # milliseconds between two frames: one frame of 60 Hz, and what clocks differ by
# The middle of the part by which a handle is taken, and the drawing that it is in, as far as it can be seen.
PLACE = """(node) => {
    document.activeElement?.blur();
    (node.closest("svg") ?? node).scrollIntoView({ block: "start" });
    const box = ({ x, y, width, height }) => ({ x, y, width, height: Math.min(height, innerHeight - y) });
    const grip = box((node.querySelector(".play-grip") ?? node).getBoundingClientRect());
    const drawing = node.closest("svg") ?? node.parentElement;
    return [[grip.x + grip.width / 2, grip.y + grip.height / 2], box(drawing.getBoundingClientRect())];
}"""
FRAMES = """() => {
    window.frames_seen = [];
    const seen = (now) => { frames_seen.push(now); window.frame = requestAnimationFrame(seen); };
    window.frame = requestAnimationFrame(seen);
}"""
STOP = "() => (cancelAnimationFrame(window.frame), window.frames_seen)"


class Empty:
    """A page on which a drag moves a small square."""

    def __init__(self, page):
        self.page = page
        # Where the pointer goes down, in pixels, and the box over which it is dragged: those of a figure.
        self.grip, self.box = (300, 300), dict(x=100, y=100, width=400, height=400)

    def held(self, move) -> np.ndarray:
        """-> what `move()` gives while the pointer is down."""
        self.page.bring_to_front()
        self.page.mouse.move(*self.grip)
        self.page.mouse.down()
        found = move()
        self.page.mouse.up()
        return found

    def times(self, moves: int) -> np.ndarray:
        """-> milliseconds for each of the moves."""
        return self.held(lambda: times(self.page, self.box, moves))

    def intervals(self, seconds: float) -> np.ndarray:
        """-> milliseconds from frame to frame, while the pointer moves every 8 ms."""

        def move():
            self.page.evaluate(FRAMES)
            began = time.perf_counter()
            for count, point in enumerate(curve(self.box, round(125 * seconds)), start=1):
                self.page.mouse.move(*point)
                time.sleep(max(0, began + 0.008 * count - time.perf_counter()))
                if time.perf_counter() > began + seconds:
                    break
            return np.diff(self.page.evaluate(STOP))

        return self.held(move)


class Figure(Empty):
    """An explorable of a page: a drag moves its first handle.

    Args:
        page: that shows it.
        name: of the explorable.
        empty: the page on which the same is done after it.
    """

    def __init__(self, page, name: str, empty: Empty):
        super().__init__(page)
        self.name, self.empty = name, empty
        self.root = page.locator(f'.vit-play[data-name="{name}"]')
        self.handle = self.root.locator('[role="slider"]').first

    def held(self, move) -> np.ndarray:
        """As that of `Empty`, from where the handle has come to.

        Raises:
            RuntimeError: the pointer has not taken hold of it.
        """
        self.page.bring_to_front()
        self.grip, self.box = self.empty.grip, self.empty.box = self.handle.evaluate(PLACE)

        def moved():
            if not self.handle.evaluate("(node) => node === document.activeElement"):  # what is dragged has the focus
                raise RuntimeError(f"the pointer has not taken hold of {self.name}")
            return move()

        return super().held(moved)


def taking_turns(figure: Figure, options: argparse.Namespace) -> str:
    """-> the line of an explorable: its times, those of the empty page, their ratio and their difference."""
    pair = (figure, figure.empty)
    for one in pair:
        one.page.evaluate(WATCH)
        one.times(10)  # until what is run has been compiled
    rounds = [[one.times(-(-options.moves // options.rounds)) for one in pair] for _ in range(options.rounds)]
    mine, other = (np.concatenate(parts) for parts in zip(*rounds, strict=True))
    ratio = np.median([np.median(a) / np.median(b) for a, b in rounds])
    more = np.percentile(mine, 95) - np.percentile(other, 95)
    compared = f"{ratio:.2f} times, {more:.1f} ms more at the 95th"
    return f"{figure.name}: {summary(mine)}; empty page: {summary(other)}; {compared}"


def pictures(intervals: np.ndarray) -> str:
    """-> "59.9 pictures a second, 3 of 120 late"."""
    return f"{1000 / intervals.mean():.1f} pictures a second, {(intervals > LATE).sum()} of {len(intervals)} late"


def main() -> None:
    """Measures, and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*ABOUT], help="of the explorables; by default all")
    parser.add_argument("--moves", type=int, default=200, help="of the pointer, for each explorable")
    parser.add_argument("--rounds", type=int, default=5, help="in which the two pages take turns")
    parser.add_argument("--seconds", type=float, default=2, help="for which each is dragged on the page of all")
    options = parser.parse_args()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        write_pages(Path(folder))
        browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)

        def opened(name: str = ""):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            if not name:
                page.set_content(EMPTY)
                return page
            page.goto((Path(folder) / f"{name}.html").as_uri())
            count = len(ABOUT) if name == "index" else 1
            page.wait_for_function(f"document.querySelectorAll('[data-drawn=true]').length === {count}")
            return page

        print(f"{browser.browser_type.name} {browser.version}, {os.cpu_count()} processors")
        for name in options.names:
            pages = opened(name), opened()
            print(taking_turns(Figure(pages[0], name, Empty(pages[1])), options), flush=True)
            for page in pages:
                page.close()
        page, empty = opened("index"), Empty(opened())
        for name in options.names:
            pair = (Figure(page, name, empty), empty)
            for one in pair:
                one.intervals(min(0.2, options.seconds))  # until it has come into view and been compiled
            mine, other = (pictures(one.intervals(options.seconds)) for one in pair)
            print(f"{name} among {len(ABOUT)}: {mine}; empty page: {other}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
