"""How many pictures of a camera a second the live page shows in Chromium, from the video to the maps, with each model.

    PYTHONPATH=. python tests/benchmarks/camera.py [--seconds 10] [--sizes 224 336 448] [--all-cores]

The camera is Chromium's own, of 20 pictures a second or more; the page takes at most 15. The browser is kept to one
core, unless it may have all. Prints how many were shown a second, and the longest that the page was busy at a stretch.
"""

import argparse
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from lab import BROWSER_FLAGS, chromium
from live import Sent
from live_camera import FAKE, film, opened
from live_page import question, wait_shown
from playwright.sync_api import sync_playwright
from served import answering

from vit_course.explorer.live_page import write_live

COUNT = """seconds => new Promise((done) => {
    const { dataset } = document.documentElement, begins = performance.now();
    let shown = 0, longest = 0;
    const frames = new MutationObserver(() => shown++);
    frames.observe(document.documentElement, { attributes: true, attributeFilter: ["data-shown"] });
    const tasks = (list) => list.getEntries().forEach(({ duration }) => (longest = Math.max(longest, duration)));
    new PerformanceObserver(tasks).observe({ type: "longtask" });
    setTimeout(() => done([shown / (performance.now() - begins) * 1000, longest]), 1000 * seconds);
})"""


def main() -> None:
    """Measures, and prints a line for each model and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=[224, 336, 448])
    parser.add_argument("--all-cores", action="store_true")
    options = parser.parse_args()
    if not options.all_cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        write_live(Path(name, "live"))
        browser = playwright.chromium.launch(executable_path=chromium(), args=[*BROWSER_FLAGS, *FAKE])
        with answering(partial(Sent, directory=str(Path(name, "live")))) as server:
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            context.add_init_script("window.tracks = []")
            page = opened(context, server.address)
            film(page)
            for model, size in (("tiny-cifar", 32), *(("vit-s14", size) for size in options.sizes)):
                page.check(f"[value={model}]")
                if model == "vit-s14":
                    page.select_option("#live-size", str(size))
                wait_shown(page, f"{model} {size}")
                wait_shown(page, f"{model} {size}", question(page) + 1)
                rate, longest = page.evaluate(COUNT, options.seconds)
                busy = f"busy for {longest:.0f} ms at most" if longest else "never busy for 50 ms"
                threads = page.evaluate("window.threads")
                print(f"{model}, {size} px, threads: {threads}: {rate:.1f} pictures a second, the page {busy}")
        browser.close()


if __name__ == "__main__":
    main()
