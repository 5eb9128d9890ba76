"""The live page where its own scripts do not come whole, or what the browser has kept is damaged."""

from contextlib import suppress
from functools import partial

import numpy as np
import pytest
from explored import NEEDS_CHROMIUM, drawn, pixels
from live_page import computed_here, give, question, visit, wait_shown, words
from pictures import encoded
from PIL import Image
from served import Handler, answering, served

pytestmark = [pytest.mark.thorough, NEEDS_CHROMIUM]
WORDS = "() => document.querySelector('.live-words').textContent"
# Puts another answer in place of what the browser has kept of a file: as long, or what WebAssembly begins with.
DAMAGE = """async (path) => {
    const [name] = await caches.keys(), store = await caches.open(name);
    const bytes = new Uint8Array(await (await store.match(path)).arrayBuffer());
    if (path.endsWith(".gz")) bytes.set([0, 0x61, 0x73, 0x6d]);
    else bytes[bytes.length - 9] ^= 1;
    await store.put(path, new Response(bytes));
}"""


@pytest.fixture(scope="module")
def server(live_folder):
    with served(live_folder) as server:
        server.folder = live_folder
        yield server


@pytest.fixture
def context(browser):
    # The worker that answers without a server comes in test_live_offline_browser.py; what it asks for, no route sees.
    context = browser.new_context(service_workers="block")
    yield context
    context.close()


def cut(route):
    content = route.fetch().body()
    route.fulfill(body=content[: len(content) // 2], content_type="text/javascript")


BROKEN = {
    "missing": lambda route: route.fulfill(status=404),
    "not reached": lambda route: route.abort(),
    "cut": cut,
    "empty": lambda route: route.fulfill(body="", content_type="text/javascript"),
    "as text": lambda route: route.fulfill(body="export {}", content_type="text/plain"),
}


@pytest.mark.parametrize("script", ["live.js", "live_worker.js"])
@pytest.mark.parametrize("how", BROKEN)
def test_a_script_that_is_not_whole_is_said_in_the_place_of_loading(script, how, browser, server):
    context = browser.new_context(service_workers="block")
    context.route(f"**/{script}", BROKEN[how])
    page = visit(context, server.address)
    line = "start => document.querySelector('.live-words').textContent.startsWith(start)"
    page.wait_for_function(line, arg="Nothing can be computed: ")
    assert script in page.evaluate(WORDS) and "eload the page" in page.evaluate(WORDS)
    assert page.locator(".live-words.live-refused").is_visible()
    context.close()


def test_a_whole_page_says_nothing_of_it(context, server):
    page = visit(context, f"{server.address}/?model=tiny-cifar")
    wait_shown(page, "tiny-cifar")
    page.wait_for_timeout(500)
    assert page.evaluate(WORDS).startswith("The small model sees") and not page.locator(".live-refused").count()
    assert page.errors == []


def test_what_the_browser_has_kept_is_believed_by_its_checksum_alone(context, server):
    wait_shown(visit(context, f"{server.address}/?model=tiny-cifar"), "tiny-cifar")
    small = {"models/tiny-cifar-block.onnx", "models/tiny-cifar.safetensors"}
    for path in (*small, "runtime/ort-wasm-simd-threaded.wasm.gz"):
        page = context.pages[0]
        page.evaluate(DAMAGE, path)
        before = len(server.asked)
        page.reload()
        wait_shown(page, "tiny-cifar")
        ours = [one for one in server.asked[before:] if one.endswith((".onnx", ".safetensors", ".gz"))]
        assert path in ours and not small & {*ours} - {path}
        assert page.errors == []


def says(page, words: str, where: str = ".live-words") -> None:
    """Waits for words in a line of the page."""
    page.wait_for_function(
        "([where, words]) => document.querySelector(where).textContent.includes(words)",
        arg=[where, words],
    )


class Halves(Handler):
    """Ends in the midst of the weights of the small model."""

    def copyfile(self, source, outputfile):
        content = source.read()
        with suppress(ConnectionError):  # without one file the page wants no other
            outputfile.write(content[: len(content) // 2] if self.path.endswith("tiny-cifar.safetensors") else content)


def test_a_file_that_breaks_off_is_named(context, server):
    with answering(partial(Halves, directory=str(server.folder))) as halves:
        page = visit(context, halves.address)
        computed_here(page)  # the other one is there
        page.check("[value=tiny-cifar]")
        says(page, "tiny-cifar.safetensors broke off after", ".live-progress-words")
        assert page.errors == []


def test_no_room_is_said_and_the_models_run(context, server):
    page = visit(context, server.folder.parent.as_uri())
    session = context.new_cdp_session(page)
    session.send("Storage.overrideQuotaForOrigin", {"origin": server.address, "quotaSize": 10e6})
    page.goto(server.address)
    computed_here(page)
    says(page, "The large model does not fit into this browser's storage", ".live-progress-words")
    page.reload()
    computed_here(page)
    assert page.errors == []


ALIVE = "count => window.said.filter(([kind]) => kind === 'held').length >= count"  # its death would be noticed
HEAR = f"""new MutationObserver(() => window.heard = (window.heard ?? '') + {WORDS[6:]}).observe(
    document.querySelector('.live-words'), {{ childList: true, characterData: true, subtree: true }})"""
KILL = "window.workers.at(-1).terminate()"


def test_a_worker_that_dies_starts_again_and_what_is_shown_stays(context, server):
    model = "tiny-cifar"
    page = visit(context, f"{server.address}/?model={model}#overlay=heat")
    wait_shown(page, model)
    page.wait_for_function(ALIVE, arg=1)
    page.evaluate("document.querySelector('.vit-explorer').mine = true")
    page.locator(".vit-main").first.click()  # in the midst of something
    page.evaluate(HEAR)
    page.evaluate(KILL)
    page.wait_for_function(ALIVE, arg=2)
    says(page, "is ready again")
    assert "has ended. It starts again; what is shown stays." in page.evaluate("window.heard")
    assert page.evaluate("document.querySelector('.vit-explorer').mine"), "nobody asked for anything new"
    before = question(page)
    page.click('[data-photograph="photographs/coffee.jpg"]')
    wait_shown(page, model, before)
    # One that dies before it could answer is not started for ever.
    page.evaluate(KILL)
    page.wait_for_function(ALIVE, arg=3)
    page.evaluate(KILL)
    says(page, "Nothing can be computed: The part of this page that computes has ended before it could answer")
    assert page.evaluate("window.workers.length") == 3
    assert page.locator(".vit-explorer[data-ready]").is_visible()
    page.click(".live-again")
    page.wait_for_selector(".live-again", state="hidden")
    before = question(page)
    page.click('[data-photograph="photographs/cat.jpg"]')
    wait_shown(page, model, before)
    assert page.errors == []


def test_two_tabs_do_not_harm_each_other(context, server):
    pages = [visit(context, server.address) for _ in range(2)]
    for page in pages:
        computed_here(page)
    pages[0].wait_for_function(ALIVE, arg=1)
    pages[0].close()
    before = question(pages[1])
    pages[1].click('[data-photograph="photographs/coffee.jpg"]')
    wait_shown(pages[1], "vit-s14 224", before)
    assert pages[1].evaluate("window.workers.length") == 1 and pages[1].errors == []


# What a worker meets when memory is short, for the photographs that are named: its last words, or an error.
SHORT = """
let name = "";
self.addEventListener("message", ({ data }) => { if (data.kind === "look") ({ name } = data); });
const { from } = Float32Array, made = self.createImageBitmap;
Float32Array.from = (...given) => {
    if (/espresso/.test(name)) throw new WebAssembly.RuntimeError("memory access out of bounds");
    return from.apply(Float32Array, given);
};
self.createImageBitmap = (...given) => /dahlia/.test(name) ? Promise.reject(new DOMException("no")) : made(...given);
"""


def test_too_little_memory_is_said_and_what_is_shown_stays(context, server):
    script = (server.folder / "live_worker.js").read_text()
    context.route("**/live_worker.js", lambda route: route.fulfill(body=SHORT + script, content_type="text/javascript"))
    page = visit(context, f"{server.address}/?model=tiny-cifar")
    wait_shown(page, "tiny-cifar")
    page.wait_for_function(ALIVE, arg=1)
    shown = page.evaluate("document.documentElement.dataset.shown")
    page.evaluate(HEAR)
    page.click('[data-photograph="photographs/dahlia.jpg"]')
    says(page, "cannot be opened: it is damaged, or too large for the memory of this browser.")
    # WebAssembly that has run out of it computes nothing any more: another worker does.
    page.click('[data-photograph="photographs/coffee.jpg"]')
    says(page, "is ready again")
    assert "could not be shown: the browser has too little memory." in page.evaluate("window.heard")
    # On the page, too.
    page.evaluate("window.made = createImageBitmap; 0")
    page.evaluate("createImageBitmap = () => Promise.reject(new DOMException('no')); 0")
    page.click('[data-photograph="photographs/cat.jpg"]')
    says(page, "What was computed cannot be shown: the browser has too little memory")
    assert (
        page.evaluate("document.documentElement.dataset.shown") == shown and page.locator(".vit-explorer").count() == 1
    )
    page.evaluate("createImageBitmap = window.made; 0")
    before = question(page)
    page.click('[data-photograph="photographs/rocket.jpg"]')
    wait_shown(page, "tiny-cifar", before)
    assert page.errors == [] and page.evaluate("window.workers.length") == 2


def complete(page):
    drawn(page)
    page.wait_for_selector(".vit-grid[data-complete=true]")
    drawn(page)


def test_canvases_that_the_browser_has_taken_away_are_drawn_again(context, server):
    page = visit(context, f"{server.address}/?model=tiny-cifar")
    wait_shown(page, "tiny-cifar")
    complete(page)
    places = (".vit-main canvas", ".vit-cells canvas", ".vit-bar")
    before = [pixels(page, place) for place in places]
    page.evaluate("""() => {
        window.lost = [...document.querySelectorAll(".vit-main canvas, .vit-cells canvas, .vit-bar")];
        for (const canvas of lost) canvas.getContext("2d").reset(), canvas.dispatchEvent(new Event("contextlost"));
    }""")
    assert all(np.abs(pixels(page, place)).max() == 0 for place in places)
    assert page.get_by_text("The browser needed the memory of these pictures.").is_visible()
    page.evaluate("for (const canvas of lost) canvas.dispatchEvent(new Event('contextrestored'))")
    complete(page)
    for place, wanted in zip(places, before, strict=True):
        np.testing.assert_array_equal(pixels(page, place), wanted)
    assert page.get_by_text("The browser needed the memory").is_hidden() and page.errors == []


def test_what_is_odd_about_ones_picture_is_said_and_after_a_reload_that_it_is_gone(context, server):
    page = visit(context, f"{server.address}?model=tiny-cifar")
    shown = int(wait_shown(page, "tiny-cifar").split()[2])
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (75, 118, 3), dtype=np.uint8))
    give(page, "moving.gif", encoded(noise, format="GIF"))
    words(page, "moving.gif is a GIF: only its first picture is used.")
    give(page, "dot.png", encoded(noise.resize((1, 1))))
    words(page, "dot.png has only 1 × 1 pixels")
    assert int(wait_shown(page, "tiny-cifar", shown).split()[2]) > shown
    page.reload()
    words(page, "Your own photograph stayed with you and is not kept here")
    page.click('[data-photograph$="rocket.jpg"]')
    page.wait_for_function("!document.querySelector('.live-words').textContent.includes('is not kept here')")
    page.locator(".vit-main").wait_for()
    box = page.locator(".vit-main").bounding_box()
    assert box["y"] + box["height"] <= 900, "the whole photograph is on the screen"
    page.close()
