"""When the live page shows something on a slow line: the first paint, the first explorer, what the large model sees.

    PYTHONPATH=. python tests/benchmarks/slow_line.py [--before FOLDER] [--rate 200000] [--delay 0.15] [--most 60]

The server gives so many bytes a second to all connections together and waits before each answer; workers and service
workers are on the same line. --before is a live page that another version wrote, which is visited first.
"""

import argparse
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lab import BROWSER_FLAGS, chromium
from live_page import visit
from playwright.sync_api import TimeoutError as TooLong
from playwright.sync_api import sync_playwright
from served import Handler, answering

from vit_course.explorer.live_page import write_live

PIECE = 4096  # bytes
SAID = "document.querySelector('.live-words').textContent"


class Line(Handler):
    """One line for all that is asked for at the same time."""

    rate, delay, turn, sent = 200_000, 0.15, threading.Lock(), 0

    def copyfile(self, source, outputfile):
        time.sleep(self.delay)
        with suppress(ConnectionError):  # the visit is over
            while piece := source.read(PIECE):
                with Line.turn:
                    time.sleep(len(piece) / self.rate)
                    Line.sent += len(piece)
                outputfile.write(piece)


def first_visit(browser, folder: Path, most: float) -> None:
    """Prints when what was there, and how many bytes had come by then."""
    Line.sent = 0
    with answering(partial(Line, directory=str(folder))) as server:
        context, began = browser.new_context(viewport={"width": 1280, "height": 900}), time.time()
        page = visit(context, server.address)
        for what, script in (
            ("the first explorer", "document.querySelector('.vit-explorer[data-ready]')"),
            ("what the large model sees", "document.documentElement.dataset.shown?.startsWith('vit-s14')"),
            ("all of its layers", f"{SAID}.includes('ViT-S/14') && lines.length"),
        ):
            try:
                page.wait_for_function(script, timeout=1000 * most)
            except TooLong:
                print(f"  {what}: not within {time.time() - began:.0f} s; by then {Line.sent / 1e6:.1f} MB have come")
                break
            print(f"  {what}: {time.time() - began:.1f} s, {Line.sent / 1e6:.2f} MB; {page.evaluate(SAID)}")
        paint = "performance.timeOrigin + performance.getEntriesByName('first-contentful-paint')[0].startTime"
        print(f"  first paint: {page.evaluate(paint) / 1000 - began:.1f} s; then: {page.evaluate('lines.slice(-1)')}")
        context.close()


def main() -> None:
    """Visits each page for the first time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rate", type=float, default=200_000, help="bytes a second")
    parser.add_argument("--delay", type=float, default=0.15, help="seconds")
    parser.add_argument("--most", type=float, default=60, help="seconds to wait for each")
    options = parser.parse_args()
    Line.rate, Line.delay = options.rate, options.delay
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name, "live")
        write_live(folder)
        browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
        for what, place in (("before", options.before), ("now", folder)):
            if place:
                print(f"{what}, {sum(path.stat().st_size for path in place.rglob('*') if path.is_file()) / 1e6:.0f} MB")
                first_visit(browser, place, options.most)
        browser.close()


if __name__ == "__main__":
    main()
