"""How long the live page takes in Chromium: until the large model answers, cold and warm, and for a photograph then.

    PYTHONPATH=. python tests/benchmarks/live.py [--photographs 7] [--sizes 224 336 448] [--all-cores]

The browser is kept to one core, unless it may have all. Prints the median and the slowest of each.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lab import BROWSER_FLAGS, chromium
from live_page import question, visit, wait_shown
from playwright.sync_api import sync_playwright
from served import served

from vit_course.live import write_live


def photographs(page, size: int, count: int) -> list[float]:
    """Seconds from the click on each photograph to its explorer."""
    if page.input_value("#live-size") != str(size):
        before = question(page)
        page.select_option("#live-size", str(size))
        wait_shown(page, f"vit-s14 {size}", before)
    buttons, found = page.locator("[data-photograph]"), []
    for index in range(count):
        before, began = question(page), time.perf_counter()
        buttons.nth((index + 1) % buttons.count()).click()
        wait_shown(page, f"vit-s14 {size}", before)
        found.append(time.perf_counter() - began)
    return found


def main() -> None:
    """Measures, and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photographs", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", default=[224, 336, 448])
    parser.add_argument("--all-cores", action="store_true")
    options = parser.parse_args()
    if not options.all_cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # which the browser inherits
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        write_live(Path(name, "live"))
        with served(Path(name, "live")) as server:
            browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            for kind in ("cold", "warm"):
                began = time.perf_counter()
                page = visit(context, server.address)
                wait_shown(page, "vit-s14 224")
                print(f"{kind} visit: the large model has answered after {time.perf_counter() - began:.2f} s")
            for size in options.sizes:
                times = photographs(page, size, options.photographs)
                print(f"{size} px: median {statistics.median(times):.2f} s, slowest {max(times):.2f} s")
            browser.close()


if __name__ == "__main__":
    main()
