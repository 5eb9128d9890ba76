"""What the benchmarks of pages share: the time from the pointer's move to the painted frame, and a page that is empty.

A time is counted from the browser's own stamp of the event to the first task after the frame that shows it; a figure
that says of itself that it is not drawn yet is waited for, frame by frame. Of the explorer it counts what follows the
pointer, the photograph and the sentences: the small maps are drawn when there is time.
"""

from collections.abc import Iterator

import numpy as np

# Once a page: `times` then grows by one for each move.
WATCH = """() => {
    window.times = [];
    const channel = new MessageChannel();
    const open = [];
    const next = () => requestAnimationFrame(() => channel.port2.postMessage(0));
    channel.port1.onmessage = () => {
        if (document.querySelector('[data-drawn="false"]')) return next();
        while (open.length) times.push(performance.now() - open.pop());
    };
    window.addEventListener("pointermove", (event) => (open.push(event.timeStamp), next()), true);
}"""
SETTLED = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
# What the browser itself takes, most of it the wait for the next frame: a page that only moves a small square.
EMPTY = """<style>body { user-select: none } div { width: 560px; height: 560px } i { position: absolute }</style>
<div class="vit-main"><i>.</i></div><script>
window.onpointermove = (e) => (document.querySelector("i").style.left = `${e.clientX}px`);
</script>"""


def curve(box: dict, moves: int) -> Iterator[tuple[float, float]]:
    """-> (x, y) of each move, along a curve over a whole box of the page: `x`, `y`, `width` and `height` in pixels."""
    for move in range(moves):
        angle = 2 * np.pi * move / moves
        x, y = (np.sin(3 * angle) + 1) / 2, (np.sin(2 * angle + 0.5) + 1) / 2
        yield box["x"] + (0.01 + 0.98 * x) * box["width"], box["y"] + (0.01 + 0.98 * y) * box["height"]


def times(page, box: dict, moves: int) -> np.ndarray:
    """-> milliseconds for each of the moves over a box of a page with `WATCH`, one after the other."""
    page.evaluate(SETTLED)  # or an earlier move would count as one of these
    page.evaluate("window.times.length = 0")
    for count, point in enumerate(curve(box, moves), start=1):
        page.mouse.move(*point)
        page.wait_for_function("count => window.times.length >= count", arg=count)
    return np.array(page.evaluate("window.times"))


def summary(milliseconds: np.ndarray) -> str:
    """-> "median 17.1 ms, 95th percentile 20.3 ms"."""
    median, late = np.percentile(milliseconds, [50, 95])
    return f"median {median:.1f} ms, 95th percentile {late:.1f} ms"
