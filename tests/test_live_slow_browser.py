"""The live page on a slow line: our photographs without a model, files that go on after a break, what time is left."""

from contextlib import contextmanager
from functools import partial

import pytest
from explored import NEEDS_CHROMIUM
from explorer_parts import module_page
from live_page import computed_here, give, question, visit, wait_shown
from served import Ranged, answering

from vit_course import data, pretrained
from vit_course.explorer import explore

pytestmark = [pytest.mark.thorough, NEEDS_CHROMIUM]
WEIGHTS = "models/vit-s14.safetensors"
HALF = 20_000_000  # bytes, of 44 million


@contextmanager
def visiting(browser, live_folder):
    """A browser that has never seen the page, and its server, which gives parts of files."""
    with answering(partial(Ranged, directory=str(live_folder))) as server:
        server.parts, server.ends, server.change = True, {}, lambda content: content
        context = browser.new_context(service_workers="block")  # what those ask for, no route sees
        yield context, server
        context.close()


def line(page, words: str, where: str = ".live-progress-words") -> None:
    """Waits for words in a line of the page."""
    script = "([where, words]) => document.querySelector(where).textContent.includes(words)"
    page.wait_for_function(script, arg=[where, words])


@pytest.fixture
def fresh(browser, live_folder):
    with visiting(browser, live_folder) as both:
        yield both


def test_without_any_model_our_photographs_are_shown_and_said_to_be_stored(fresh):
    context, server = fresh
    context.route("**/models/**", lambda route: route.abort())
    live = visit(context, server.address)
    run = pretrained.load_run("vit-s14-cifar10", image_size=224)
    for name in ("cat", "dahlia"):
        before = question(live)
        live.click(f'[data-photograph="photographs/{name}.jpg"]')
        wait_shown(live, "vit-s14 224", before)
        line(live, "ViT-S/14 sees the middle square, 224 × 224 pixels, 16 × 16 patches; computed beforehand, not here.",
             ".live-words")  # fmt: skip
        opens = explore(run, data.photographs()[name].path)
        live.get_by_text(f"Opened on layer {opens.layer}, head {opens.head}, where").wait_for()
        assert live.get_attribute(".vit-explorer", "data-query") == str(opens.query)
    line(live, "The large model cannot be used: models/vit-s14-")
    live.get_by_text("Similarity", exact=True).first.click()  # what comes last of the file
    live.locator(".vit-words", has_text="After the last layer").wait_for()
    give(live, "mine.jpg", data.photographs()["clock"].path.read_bytes())
    line(live, "Nothing can be computed: ", ".live-words")
    assert live.errors == [] and live.outside == []


def test_an_own_picture_gets_the_small_model_until_the_large_one_is_there(fresh):
    context, server = fresh
    context.route("**/vit-s14.safetensors", lambda route: None)  # it never answers
    live = visit(context, server.address)
    wait_shown(live, "vit-s14 224")
    assert not [place for place in server.asked if "tiny-cifar" in place]
    give(live, "mine.jpg", data.photographs()["clock"].path.read_bytes())
    line(live, "The large model is not ready yet: the small one looks first.", ".live-words")
    wait_shown(live, "tiny-cifar")
    binary = [place for place in server.asked if place.endswith(".gz")]
    assert len(binary) == 1 and live.errors == [], "the runtime serves both"


def parts(server) -> list[int]:
    """From which byte on the weights were asked for, one after the other."""
    asked = [place.partition(" ")[2] for place in server.asked if place.startswith(WEIGHTS)]
    return [int(one.removeprefix("bytes=")[:-1]) if one else 0 for one in asked]


def test_a_file_that_breaks_off_goes_on_by_itself(fresh):
    context, server = fresh
    server.ends = {WEIGHTS: HALF}
    live = visit(context, server.address)
    computed_here(live)
    begin, rest = parts(server)
    assert begin == 0 and 1e6 < rest <= HALF and live.errors == []


@pytest.mark.parametrize("after", ["online", "the next visit", "another file", "a server without parts"])
def test_what_has_come_is_kept(browser, live_folder, after):
    with visiting(browser, live_folder) as (context, server):
        goes_on(context, server, after)


def goes_on(context, server, after: str) -> None:
    """A visit in which the weights break off, and what comes then."""
    server.ends, server.parts = {WEIGHTS: HALF}, False
    if after == "another file":
        server.change = lambda content: bytes([content[0] ^ 1]) + content[1:]
    live = visit(context, server.address)
    line(live, f"The large model cannot be used: {WEIGHTS} broke off after ")
    server.parts, server.change = after != "a server without parts", lambda content: content
    if after == "online":
        live.evaluate("dispatchEvent(new Event('online'))")
    else:
        live.reload()
    computed_here(live)
    begin, rest, *anew = parts(server)
    assert begin == 0 and 1e6 < rest <= HALF
    assert anew == [0] * (after == "another file")
    said = "A file had changed on the server, so it is loaded anew."
    assert any(said in words for words in live.evaluate("window.lines")) == (after == "another file")
    kept = "caches.keys().then(([name]) => caches.open(name)).then((store) => store.keys())"
    assert not [one for one in live.evaluate(f"{kept}.then((keys) => keys.map(({{ url }}) => url))") if "from=" in one]
    assert live.errors == []


def test_the_time_that_is_left_is_said_when_it_can_be_known_and_keeps_still(browser):
    page = module_page(browser)
    said = page.evaluate(
        """async () => {
            const { Left } = await import("/live/time_left.js"), left = new Left(), said = [];
            for (let s = 0; s <= 20; s++) // 200 kB a second, unevenly, with 93 seconds to go
                said.push(left.after(s * 2e5 + (s % 3) * 2e4, 18.6e6, 1000 * s));
            return [...said, left.after(4.04e6, 18e6, 29_000), left.after(20e6, 1e6, 31_000)];
        }"""
    )
    page.close()
    assert said[:3] == [""] * 3 and {*said[4:21]} == {"about 2 minutes left"}
    assert said[21] == "", "nothing has come for nine seconds"
    assert said[22].startswith("about ") and said[22].endswith("seconds left")
