"""The live page in a real browser: both models on photographs, and nothing asked of anybody but its own server."""

import base64
import io
import json

import numpy as np
import pytest
import torch
from conftest import thoroughly
from explored import NEEDS_CHROMIUM, SCREENSHOTS, violations
from live_page import HAND_OVER, TAKE, compare, computed_here, give, question, take, visit, wait_shown, words
from pictures import encoded
from PIL import Image
from sent import layer_of
from served import served
from torch import softmax

from vit_course import data, pretrained
from vit_course.explorer import explore

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def server(live_folder):
    with served(live_folder) as server:
        server.folder = live_folder
        yield server


@pytest.fixture(scope="module")
def context(browser):
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture(scope="module")
def live(context, server):
    """The page of a first visit, once the large model has answered."""
    page = visit(context, server.address)
    wait_shown(page, "vit-s14 224")
    page.first_words = page.inner_text(".live-words")
    computed_here(page)
    page.first_asked = list(server.asked)
    yield page
    page.close()


@pytest.fixture(autouse=True)
def nothing_goes_wrong(request):
    yield
    if "live" in request.fixturenames:
        page = request.getfixturevalue("live")
        assert page.outside == [] and page.errors == []


def test_what_was_computed_beforehand_is_shown_before_any_model_comes(live):
    assert live.first_words.endswith("16 × 16 patches; computed beforehand, not here.")
    assert [shown.split()[0] for shown in live.evaluate("window.shown")] == ["vit-s14", "vit-s14"]
    asked = live.first_asked
    (maps,) = (place for place in asked if place.startswith("maps/"))
    assert asked.index(maps) < min(i for i, place in enumerate(asked) if place.startswith(("models/", "runtime/")))
    assert {model for _, model in live.evaluate("window.said")} <= {None, "vit-s14"}, "nobody asked for the small one"
    loading = [line for line in live.evaluate("window.lines") if " of 4" in line]
    assert len(loading) > 3, "the bar of the large model moves"
    assert live.inner_text(".live-credit").startswith("Chelsea, a tabby cat. Photograph: Stefan van der Walt, CC0")


def test_each_file_is_asked_for_once(live):
    weights = [path for path in live.first_asked if path.startswith("models/") or path.endswith(".gz")]
    graphs = [f"models/vit-s14-{part}.onnx" for part in ("block", "embed", "head")]
    kept = [f"models/{name}.safetensors" for name in ("vit-s14", "vit-s14-cifar10")]
    assert sorted(weights) == sorted([*graphs, *kept, "runtime/ort-wasm-simd-threaded.wasm.gz"])


def test_a_photograph_at_224_pixels_as_in_pytorch(live):
    run = pretrained.load_run("vit-s14-cifar10", image_size=224)
    compare(live, run, "cat", (0, 5, 11))
    opens = explore(run, data.photographs()["cat"].path)
    live.get_by_text(f"Opened on layer {opens.layer}, head {opens.head}, where").wait_for()
    assert live.get_attribute(".vit-explorer", "data-query") == str(opens.query)


def test_what_was_computed_beforehand_is_what_the_browser_computes(live, server):
    head, data = (server.folder / "maps" / "cat.bin").read_bytes().split(b"\n", 1)
    panel, now = json.loads(head), live.evaluate("window.answer.panel")
    for layer, (q, k) in enumerate(zip(take(live, "queries"), take(live, "keys"), strict=True)):
        wanted = softmax(torch.from_numpy(q @ k.swapaxes(1, 2) * q.shape[-1] ** -0.5), dim=-1).numpy()
        found = layer_of({"_panels": [panel], "_data": data}, layer)
        assert (np.abs(found - wanted) / wanted.max(axis=-1, keepdims=True)).max() < 0.01, "as live/precompute.py says"
        np.testing.assert_allclose(found.sum(axis=-1), 1, atol=1e-4)
    says, told = panel["says"], now["says"]
    assert [says[name] for name in ("labels", "about", "none")] == [told[name] for name in ("labels", "about", "none")]
    np.testing.assert_allclose(says["lens"], told["lens"], atol=2e-3)
    same = ("layers", "heads", "tokens", "prefix", "names", "rows", "columns", "kind", "dim", "scale", "all_layers")
    assert {name: panel[name] for name in same} == {name: now[name] for name in same}


@pytest.mark.thorough
def test_the_page_answers_while_more_patches_are_computed(live):
    turns = live.evaluate(
        """async () => {
            const { dataset } = document.documentElement, before = dataset.shown;
            const size = document.querySelector("#live-size");
            size.value = "336";
            size.dispatchEvent(new Event("change"));
            let turns = 0;
            for (; dataset.shown === before; turns++) await new Promise((done) => setTimeout(done, 20));
            return turns;
        }"""
    )
    assert turns > 10, "what the page does while a photograph of 24 x 24 patches is computed"
    wait_shown(live, "vit-s14 336")
    compare(live, pretrained.load_run("vit-s14-cifar10", image_size=336), "cat", (11,))
    before = question(live)
    live.select_option("#live-size", "224")
    wait_shown(live, "vit-s14 224", before)


@pytest.fixture
def small(live):
    """The page with the small model, and then with the large one again."""
    before = question(live)
    live.check("[value=tiny-cifar]")
    wait_shown(live, "tiny-cifar", before)
    assert live.is_disabled("#live-size")
    yield live
    before = question(live)
    live.check("[value=vit-s14]")
    wait_shown(live, "vit-s14 224", before)
    assert live.is_enabled("#live-size")


@pytest.mark.parametrize("photograph", ["dahlia", "rocket"])  # the second has a colour profile
def test_the_small_model_as_in_pytorch(small, photograph):
    before = question(small)
    small.click(f'[data-photograph="photographs/{photograph}.jpg"]')
    wait_shown(small, "tiny-cifar", before)
    compare(small, pretrained.load_run("tiny-cifar"), photograph, (0, 1, 2, 3))


def test_a_picture_of_the_visitors_own_is_seen_as_in_python(small):
    """Turned as the camera noted, clear on white, resized and cropped: the pixels themselves, from each way in."""
    draw = np.random.default_rng(0)
    rgba = Image.fromarray(draw.integers(0, 256, (75, 118, 4), dtype=np.uint8), "RGBA")
    rgba.putalpha(rgba.getchannel("A").point(lambda value: 255 * (value > 99)))
    turned = Image.Exif()
    turned[0x0112] = 6
    before = question(small)
    for way in ("file", "drop", "paste"):
        content = encoded(rgba, exif=turned)
        if way == "file":
            give(small, "noise.png", content)
        else:
            small.evaluate(HAND_OVER, [way, list(content)])
        before = int(wait_shown(small, "tiny-cifar", before).split()[2])
        ((media, text),) = small.evaluate(TAKE, ["picture", None])
        found = np.asarray(Image.open(io.BytesIO(base64.b64decode(text))).convert("RGB"))
        wanted = data.pictures.open_image(content, 32).permute(1, 2, 0).numpy()
        assert media == "image/png" and np.abs(found.astype(int) - wanted).max() <= 1
        assert small.inner_text(".live-credit") == ""
        assert small.locator(".live-ours [aria-pressed=true]").count() == 0
        rgba = rgba.rotate(90, expand=True)
    small.click(".vit-more > summary")
    small.get_by_role("button", name="Copy link").click()
    small.wait_for_function("document.querySelector('.vit-said').textContent.includes('but not your photograph')")
    small.click(".vit-more > summary")


HEIC = b"\0\0\0\x18ftypheic\0\0\0\0"


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "holiday.jpg",
            b"no picture",
            "holiday.jpg is not a picture that this browser can open: choose a JPEG, PNG or",
        ),
        ("phone.heic", HEIC, "phone.heic is a HEIC photograph, which this browser cannot open"),
        ("nothing.png", b"", "nothing.png is empty: choose another picture."),
    ],
)
def test_what_is_no_picture_is_refused_in_words_and_the_one_before_stays(live, name, content, expected):
    before = live.evaluate("document.documentElement.dataset.shown")
    give(live, name, content)
    words(live, expected)
    assert live.evaluate("document.documentElement.dataset.shown") == before
    assert live.locator(".vit-explorer[data-ready]").is_visible()
    assert not live.locator(".live-busy").count()


def test_only_the_last_choice_counts(live):
    before = question(live)
    shown = len(live.evaluate("window.shown"))
    live.evaluate("for (const one of document.querySelectorAll('[data-photograph]')) one.click()")
    last = live.locator("[data-photograph]").last.get_attribute("data-credit")
    wait_shown(live, "vit-s14 224", before)
    assert live.inner_text(".live-credit") == last
    assert len(live.evaluate("window.shown")) == shown + 1


def test_what_was_set_stays_from_picture_to_picture(live):
    before = question(live)
    live.get_by_text("Heat", exact=True).click()
    live.get_by_role("button", name="Take the tour", exact=True).click()
    live.wait_for_selector(".vit-tour-question")
    live.click('[data-photograph="photographs/coffee.jpg"]')
    wait_shown(live, "vit-s14 224", before)
    assert live.get_by_label("Heat", exact=True).is_checked()
    assert live.locator(".vit-tour-question").is_visible()
    assert live.url.endswith("/?photograph=coffee#overlay=heat&tour=look")
    live.get_by_role("button", name="Leave the tour").click()
    live.get_by_text("Spotlight", exact=True).click()


@pytest.mark.thorough
def test_the_address_says_what_is_looked_at_and_the_browser_keeps_the_weights(live, context, server):
    before = question(live)
    live.click('[data-photograph="photographs/pagoda.jpg"]')
    wait_shown(live, "vit-s14 224", before)
    assert live.url == f"{server.address}/?photograph=pagoda"  # and no "#": all else is as it opens
    live.click('[data-photograph="photographs/cat.jpg"]')
    wait_shown(live, "vit-s14 224", before + 1)
    assert live.url == f"{server.address}/"
    asked = len(server.asked)
    page = visit(context, f"{server.address}/?photograph=rocket&model=tiny-cifar&size=9#layer=3&head=2")
    wait_shown(page, "tiny-cifar 32")
    assert page.inner_text(".live-credit").startswith("a Falcon 9 rocket") and page.is_disabled("#live-size")
    assert page.inner_text(".vit-words").startswith("In layer 3, head 2,")
    assert page.url == f"{server.address}/?photograph=rocket&model=tiny-cifar#layer=3&head=2"
    page.check("[value=vit-s14]")
    wait_shown(page, "vit-s14 224")
    assert [path for path in server.asked[asked:] if path.startswith("models/") or path.endswith(".gz")] == []
    assert page.outside == [] and page.errors == []
    page.close()


@pytest.mark.thorough
def test_what_does_not_come_is_said_and_asked_for_again(browser, server):
    context = browser.new_context(service_workers="block")  # what those ask for, no route sees
    context.route("**/vit-s14-block.onnx", lambda route: route.fulfill(body=b"x" * 100))
    page = visit(context, server.address)
    line = "words => document.querySelector('.live-progress-words').textContent.includes(words)"
    page.wait_for_function(line, arg="models/vit-s14-block.onnx has 100 bytes instead of")
    wait_shown(page, "vit-s14 224")
    graph = bytearray((server.folder / "models" / "vit-s14-block.onnx").read_bytes())
    graph[-1] ^= 1
    for answer, message in (
        (lambda route: route.abort(), "models/vit-s14-block.onnx did not load: is the server still running?"),
        (
            lambda route: route.fulfill(body=bytes(graph)),
            "vit-s14-block.onnx is not the file that this page was written with",
        ),
    ):
        context.unroute("**/vit-s14-block.onnx")
        context.route("**/vit-s14-block.onnx", answer)
        page.click(".live-again")
        page.wait_for_function(line, arg=message)
    context.unroute("**/vit-s14-block.onnx")
    page.click(".live-again")
    computed_here(page)
    assert page.outside == [] and page.errors == []
    context.close()


def test_from_a_file_it_says_what_to_do(context, server):
    page = visit(context, (server.folder / "index.html").as_uri())
    assert page.inner_text(".live-file pre") == f'python -m http.server -d "{server.folder}"'
    assert page.locator(".live-choose").is_hidden() and page.locator(".live-about").is_visible()
    assert page.outside == []
    page.close()


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(390, "dark"), (1280, "light"), *thoroughly((390, "light"), (850, "light"), (850, "dark"), (1280, "dark"))],
)
def test_accessible_at_every_width_and_in_both_schemes(live, width, scheme):
    live.emulate_media(color_scheme=scheme)
    live.set_viewport_size({"width": width, "height": 900})
    assert violations(live) == []
    assert live.evaluate("document.documentElement.scrollWidth") <= width, "wider than the screen"
    SCREENSHOTS.mkdir(exist_ok=True)
    live.screenshot(path=SCREENSHOTS / f"live-{width}-{scheme}.png", full_page=True)
