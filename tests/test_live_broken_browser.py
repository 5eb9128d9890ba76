"""The live page where its own scripts do not come whole, or what the browser has kept is damaged."""

import pytest
from conftest import cases
from explored import NEEDS_CHROMIUM
from live_page import visit, wait_shown
from served import served

from vit_course.live import write_live

pytestmark = NEEDS_CHROMIUM
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
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("broken live page") / "page"
    write_live(folder)
    with served(folder) as server:
        server.folder = folder
        yield server


@pytest.fixture
def context(browser):
    context = browser.new_context()
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


@cases("script", ["live.js", "live_worker.js"])
@cases("how", BROKEN)
def test_a_script_that_is_not_whole_is_said_in_the_place_of_loading(script, how, browser, server):
    context = browser.new_context()
    context.route(f"**/{script}", BROKEN[how])
    page = visit(context, server.address)
    line = "start => document.querySelector('.live-words').textContent.startsWith(start)"
    page.wait_for_function(line, arg="Nothing can be computed: ", timeout=15_000)
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
    for path in ("models/tiny-cifar.onnx", "models/tiny-cifar.safetensors", "runtime/ort-wasm-simd-threaded.wasm.gz"):
        page = context.pages[0]
        page.evaluate(DAMAGE, path)
        before = len(server.asked)
        page.reload()
        wait_shown(page, "tiny-cifar")
        ours = [one for one in server.asked[before:] if one.endswith((".onnx", ".safetensors", ".gz"))]
        assert path in ours and not {"models/tiny-cifar.onnx", "models/tiny-cifar.safetensors"} & {*ours} - {path}
        assert page.errors == []
