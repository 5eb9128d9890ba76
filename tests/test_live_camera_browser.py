"""The live page with a camera, in a browser with a false one: frames, how it ends, and what keeps it from starting."""

from itertools import pairwise

import numpy as np
import pytest
from explored import NEEDS_CHROMIUM, SCREENSHOTS, drawn, pixels, violations
from live_camera import film, opened, with_camera
from live_page import question, take, visit, wait_shown
from served import served

pytestmark = [pytest.mark.thorough, NEEDS_CHROMIUM]
HIDE = """() => {
    Object.defineProperty(document, "hidden", { get: () => true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    delete document.hidden;
}"""
MOVE = """async () => {
    const { dataset } = document.documentElement, turn = () => new Promise(requestAnimationFrame);
    for (const first = dataset.shown; dataset.shown === first; ) await turn();
    const before = dataset.shown, main = document.querySelector(".vit-main");
    const { right, bottom } = main.getBoundingClientRect();
    const place = { clientX: right - 5, clientY: bottom - 5, pointerType: "mouse", bubbles: true };
    main.dispatchEvent(new PointerEvent("pointermove", place));
    while (document.querySelector(".vit-explorer").dataset.query !== "256") await turn();
    return [before, dataset.shown];
}"""
STILL = """async () => {
    const image = Object.assign(new Image(), { src: "photographs/dahlia.jpg" });
    await image.decode();
    window.still = Object.assign(document.createElement("canvas"), { width: 640, height: 480 });
    setInterval(() => window.still.getContext("2d").drawImage(image, 0, 0, 640, 480), 50);
}"""
KEPT = """async () => {
    const stores = await Promise.all((await caches.keys()).map((name) => caches.open(name)));
    const kept = (await Promise.all(stores.map((store) => store.keys()))).flat();
    return [kept.map(({ url }) => new URL(url).pathname), localStorage.length + (await indexedDB.databases()).length];
}"""
PROMISE = "The pictures of your camera stay in this browser: they are neither stored nor sent."


@pytest.fixture(scope="module")
def server(live_folder):
    with served(live_folder) as server:
        server.folder = live_folder
        yield server


@pytest.fixture(scope="module")
def context(browser):
    with with_camera(browser, service_workers="block") as context:
        yield context


@pytest.fixture
def page(context, server):
    page = opened(context, server.address)
    assert page.evaluate("window.tracks.length") == 0, "nobody has asked for it"
    yield page
    assert page.errors == [] and page.outside == []
    page.close()


def says(page, words: str) -> None:
    line = "words => document.querySelector('.live-camera-words').textContent.includes(words)"
    page.wait_for_function(line, arg=words)
    assert set(page.evaluate("window.tracks.map(track => track.readyState)")) <= {"ended"}, "the light is on"


def test_frames_change_the_maps_and_nothing_else(page, server):
    page.locator(".vit-main").click(position={"x": 100, "y": 100})
    page.get_by_text("Heat", exact=True).click()
    page.evaluate("document.querySelector('.vit-explorer').mine = true")
    methods, seen = set(), []
    page.on("request", lambda request: methods.add(request.method))
    film(page)
    for _ in range(3):
        seen.append([pixels(page, ".vit-main canvas"), pixels(page, ".vit-grid canvas"), take(page, "features")[0]])
        wait_shown(page, "tiny-cifar", question(page) + 5)
    assert all(np.abs(a - b).max() > 0 for pair in pairwise(seen) for a, b in zip(*pair, strict=True))
    assert page.evaluate("document.querySelector('.vit-explorer').mine"), "the same explorer"
    assert page.get_attribute(".vit-explorer", "data-query") == "10"
    assert page.url.endswith("/?model=tiny-cifar#query=10&pinned=1&overlay=heat"), "no photograph, and no frame"
    assert " pictures a second" in page.inner_text(".live-camera-rate") and not page.inner_text(".live-credit")
    files, more = page.evaluate(KEPT)
    assert methods <= {"GET"} and all((server.folder / file[1:]).exists() for file in files) and not more
    page.get_by_text("Off", exact=True).click()  # the picture alone
    drawn(page)
    first, apart = pixels(page, ".vit-main canvas"), []
    for _ in range(10):  # the false camera's pictures come again after a while: one of them is another
        wait_shown(page, "tiny-cifar", question(page) + 5)
        apart.append(np.abs(pixels(page, ".vit-main canvas") - first).mean())
    assert max(apart) > 1, "another picture, not another map"
    page.keyboard.press("Escape")
    page.check("[value=vit-s14]")
    wait_shown(page, "vit-s14 224")
    before, after = page.evaluate(MOVE)
    assert before == after, "a move is answered while a frame is computed"


def test_what_is_taken_is_the_frame_that_was_seen(page):
    page.evaluate(STILL)
    film(page)
    (frame,), before = take(page, "features"), question(page)
    page.click("[data-take]")
    page.wait_for_function("window.answer.panel.sections.some(({ name }) => name === 'picture')")
    np.testing.assert_array_equal(take(page, "features")[0], frame)
    wait_shown(page, "tiny-cifar 32", before)
    says(page, PROMISE)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("document.querySelector('[data-stop]').click()", PROMISE),
        (HIDE, "The camera stopped because this page was hidden."),
        (
            "window.tracks.at(-1).dispatchEvent(new Event('ended'))",
            "The camera stopped: it was disconnected or switched off.",
        ),
        ("window.workers.at(-1).terminate()", "The camera stopped. The part of this page that computes has ended."),
        ("document.querySelector('[data-photograph*=coffee]').click()", PROMISE),
    ],
)
def test_however_it_ends_the_light_goes_out_and_the_picture_before_comes_back(page, how, words):
    page.wait_for_function("window.said.filter(([kind]) => kind === 'held').length >= window.workers.length")
    film(page)
    before = question(page)
    page.evaluate(how)
    says(page, words)
    credit = page.get_attribute("[data-photograph*=coffee]", "data-credit")
    page.wait_for_function("credit => document.querySelector('.live-credit').textContent === credit", arg=credit)
    wait_shown(page, "tiny-cifar", before)
    assert page.url.split("#")[0].endswith("?photograph=coffee&model=tiny-cifar")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("NotAllowedError", "The camera was not allowed: allow it in the browser's address bar, then try again."),
        ("NotFoundError", "This browser cannot find a camera."),
        ("NotReadableError", "The camera does not start: another program may be using it."),
        ("TypeError", "The camera cannot be used: no."),
    ],
)
def test_what_keeps_it_from_starting_is_said_and_the_picture_stays(page, error, words):
    shown = page.evaluate("document.documentElement.dataset.shown")
    page.evaluate("name => { window.fails = name; }", error)
    page.click("[data-camera]")
    says(page, words)
    assert page.locator("[data-camera]").is_enabled() and page.locator(".live-camera-runs").is_hidden()
    assert page.evaluate("document.documentElement.dataset.shown") == shown


def test_a_browser_that_does_not_give_it(browser, server):
    page = visit(browser, f"{server.address}/?model=tiny-cifar")
    wait_shown(page, "tiny-cifar")  # at a first visit the page may load once more, for its threads
    shown = page.evaluate("document.documentElement.dataset.shown")
    page.click("[data-camera]")
    page.wait_for_selector(".live-camera-words.live-refused")
    assert page.evaluate("document.documentElement.dataset.shown") == shown
    page.close()


@pytest.mark.parametrize("width", [390, 850, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_while_it_runs(page, width, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    if page.locator("[data-camera]").is_visible():
        film(page)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "wider than the screen"
    SCREENSHOTS.mkdir(exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"camera-{width}-{scheme}.png")
