"""How long the live page takes in Chromium: until the large model answers, cold and warm, and for a photograph then.

    PYTHONPATH=. python tests/benchmarks/live.py [--photographs 7] [--sizes 224 336 448] [--all-cores]
    PYTHONPATH=. python tests/benchmarks/live.py --changes 9 [--sizes 224]

The browser is kept to one core, unless it may have all. Prints the median and the slowest of each. With --changes, how
long a layer takes in a change of the first layer, of the middle one and of the last, on one core; and then on all cores
a change of the first layer with one thread and with two, in turns, so many times.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lab import BROWSER_FLAGS, chromium
from live_changed import LOOK, changed, open_model, worker_page
from live_page import computed_here, question, visit, wait_shown
from playwright.sync_api import sync_playwright
from served import Handler, served

from vit_course.explorer.live_page import serving, write_live


class Sent(serving.Handler, Handler):
    """As `live --serve`: with the headers that threads need."""


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


@contextmanager
def browsers(playwright, cores: set[int]):
    """A browser on these cores, which it inherits."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    browser = playwright.chromium.launch(executable_path=chromium(), args=BROWSER_FLAGS)
    yield browser
    browser.close()


def visits(browser, folder: Path, options) -> None:
    """A cold visit, a warm one, and photographs."""
    with served(folder) as server:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        for kind in ("cold", "warm"):
            began = time.time()
            page = visit(context, server.address)
            computed_here(page)  # after what was computed beforehand
            took = time.time() - began
            # Of the page that stays: a first visit loads it twice.
            paint = "performance.timeOrigin + performance.getEntriesByName('first-contentful-paint')[0].startTime"
            painted = page.evaluate(paint) / 1000 - began
            threads = page.evaluate("window.threads")
            print(f"{kind} visit: painted after {painted:.2f} s, the large model has answered after {took:.2f} s; "
                  f"threads: {threads}")  # fmt: skip
        for size in options.sizes:
            times = photographs(page, size, options.photographs)
            print(f"{size} px: median {statistics.median(times):.2f} s, slowest {max(times):.2f} s")


def engine(page, size: int, threads: int) -> None:
    """The large model with so many threads, in a new worker, and what it has seen of a photograph."""
    page.evaluate("threads => { models.threads = threads; models.start(); }", threads)
    open_model(page, "vit-s14")
    page.evaluate(LOOK, ["vit-s14", size, "cat"])


def change(page, layer: int) -> float:
    """Milliseconds for a layer, in a change of that one and what follows."""
    times = changed(page, [{"kind": "head", "layer": layer, "head": 0}])["times"]
    return times["computing"] / times["layers"]


def changes(playwright, live_folder: Path, options, cores: set[int]) -> None:
    """What a layer takes: in changes of three layers, and with one thread beside two."""
    for size in options.sizes:
        with browsers(playwright, {min(cores)}) as browser, worker_page(browser, live_folder, Sent) as page:
            engine(page, size, 1)
            for layer in (0, 6, 11):
                times = [change(page, layer) for _ in range(options.changes)]
                print(f"{size} px, one core, change of layer {layer}: a layer takes median "
                      f"{statistics.median(times):.0f} ms, slowest {max(times):.0f} ms")  # fmt: skip
        with browsers(playwright, cores) as browser, ExitStack() as stack:
            pages = [stack.enter_context(worker_page(browser, live_folder, Sent)) for _ in (1, 2)]
            for page, threads in zip(pages, (1, 2), strict=True):
                engine(page, size, threads)
            one, two = zip(*([change(page, 0) for page in pages] for _ in range(options.changes)), strict=True)
            ratios = [a / b for a, b in zip(one, two, strict=True)]
            print(f"{size} px, {len(cores)} cores: a layer takes median {statistics.median(one):.0f} ms with one "
                  f"thread, {statistics.median(two):.0f} ms with two, {statistics.median(ratios):.2f} times as fast "
                  f"({min(ratios):.2f} to {max(ratios):.2f})")  # fmt: skip


def main() -> None:
    """Measures, and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--photographs", type=int, default=7)
    parser.add_argument("--changes", type=int, default=0)
    parser.add_argument("--sizes", type=int, nargs="+", default=[224, 336, 448])
    parser.add_argument("--all-cores", action="store_true")
    options = parser.parse_args()
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        write_live(folder := Path(name, "live"))
        if options.changes:
            return changes(playwright, folder, options, cores)
        with browsers(playwright, cores if options.all_cores else {min(cores)}) as browser:
            visits(browser, folder, options)


if __name__ == "__main__":
    main()
