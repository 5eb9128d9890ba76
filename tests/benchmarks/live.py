"""How long the live page takes in Chromium: until it answers, cold and warm, and for a photograph after that.

    PYTHONPATH=. python tests/benchmarks/live.py [--photographs 7] [--sizes 224 336 448] [--all-cores]

The browser is kept to one core, unless it may have all. Prints the median and the slowest of each; the seconds of a
processor that all its processes took say more than a clock where something else is running.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import psutil
from lab import BROWSER_FLAGS, chromium
from playwright.sync_api import sync_playwright
from served import served

from vit_course.live import write_live

SPY = """
window.said = [];
window.Worker = class extends Worker {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) =>
      data.times && window.said.push([data.kind, data.model, performance.now(), data.times]));
  }
};
"""
ANSWERS = "kind => window.said.filter(one => one[0] === kind && one[1] === 'vit-s14').length"


def visit(context, address: str):
    """-> the page, once the large model has answered for the first time."""
    page = context.new_page()
    page.add_init_script(SPY)
    page.goto(address)
    page.wait_for_function(f"() => ({ANSWERS})('answer') > 0", timeout=300_000)
    return page


def show_visit(name: str, page) -> None:
    for kind, model, at, times in page.evaluate("window.said"):
        parts = ", ".join(f"{part} {value / 1000:.2f} s" for part, value in times.items())
        does = "can start" if kind == "ready" else "has answered"
        print(f"{name} visit: {model} {does} after {at / 1000:.2f} s ({parts})")


def processor_seconds() -> float:
    """What the browser's processes took so far."""
    return sum(sum(one.cpu_times()[:2]) for one in psutil.Process().children(recursive=True))


def photographs(page, size: int, count: int) -> list[tuple[float, float, float]]:
    """Seconds for each photograph: of the worker, from the click to the explorer, and of a processor."""
    if page.input_value("#live-size") != str(size):
        before = page.evaluate("document.documentElement.dataset.shown")
        page.select_option("#live-size", str(size))
        page.wait_for_function("one => document.documentElement.dataset.shown !== one", arg=before, timeout=300_000)
    buttons = page.locator("[data-photograph]")
    found = []
    for index in range(count):
        before, asked = page.evaluate("[document.documentElement.dataset.shown, window.said.length]")
        began, used = time.perf_counter(), processor_seconds()
        buttons.nth((index + 1) % buttons.count()).click()
        page.wait_for_function("one => document.documentElement.dataset.shown !== one", arg=before, timeout=300_000)
        whole = time.perf_counter() - began
        times = page.evaluate("at => window.said[at][3]", asked)
        found.append((sum(times.values()) / 1000, whole, processor_seconds() - used))
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
            page = visit(context, server.address)
            show_visit("cold", page)
            page.close()
            page = visit(context, server.address)
            show_visit("warm", page)
            for size in options.sizes:
                columns = zip(*photographs(page, size, options.photographs), strict=True)
                for what, values in zip(("worker", "click to picture", "processor"), columns, strict=True):
                    print(f"{size} px, {what}: median {statistics.median(values):.2f} s, slowest {max(values):.2f} s")
            browser.close()


if __name__ == "__main__":
    main()
