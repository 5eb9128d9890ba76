"""The live page on a graphics card, here one of software: the same numbers, and a card that is no good or is lost."""

from contextlib import contextmanager

import pytest
from explored import NEEDS_CHROMIUM
from lab import BROWSER_FLAGS, chromium
from live_changed import LOOK, open_model, worker_page
from live_page import compare, question, visit, wait_shown
from served import served
from test_live_change_browser import TWENTY, branch, head, hide
from test_live_change_browser import compare as compare_changed

from vit_course import pretrained

pytestmark = [pytest.mark.thorough, NEEDS_CHROMIUM]
SCRIPTS = {"card": "runtime/ort.jspi.bundle.min.mjs", "processor": "runtime/ort.wasm.bundle.min.mjs"}
BY_PROCESSOR = "The small model is computed by the processor (one thread)"
CHANGES = [head(1, 2, by="zero"), head(2, 0), hide(range(10, 40), layers=[1, 3]), branch(2, "mlp")]
# In the worker, before its own script.
REAL = "Object.defineProperty(GPUAdapterInfo.prototype, 'isFallbackAdapter', { get: () => false });"  # as if it were
WAIT = "const wait = self.setTimeout; self.setTimeout = (done, ms) => wait(done, ms === 10_000 ? {} : ms);"
WRONG = """const { getMappedRange } = GPUBuffer.prototype;
GPUBuffer.prototype.getMappedRange = function (...given) {
    const range = getMappedRange.apply(this, given);
    return this.usage & GPUBufferUsage.MAP_READ && (new Float32Array(range)[0] += 99), range;
};"""
FULL = """const { createBuffer } = GPUDevice.prototype;
GPUDevice.prototype.createBuffer = function (asked) {
    if (asked.size <= %s) return createBuffer.call(this, asked);
    throw new RangeError("createBuffer failed");
};"""
# Loses the device in the midst of the photograph of a dahlia; tells how much was handed to the card at each question.
LOST = """let device, handed = 0, left = Infinity;
const { requestDevice } = GPUAdapter.prototype, { submit } = GPUQueue.prototype;
GPUAdapter.prototype.requestDevice = async function (one) { return (device = await requestDevice.call(this, one)); };
GPUQueue.prototype.submit = function (given) {
    handed += 1;
    if (!left--) device.destroy();
    return submit.call(this, given);
};
self.addEventListener("message", ({ data: { kind, source } }) => {
    postMessage({ kind: "handed", handed });
    if (kind === "look" && /dahlia/.test(source)) left = 3;
});
"""


@pytest.fixture(scope="module")
def carded(browser):
    """A Chromium with its software adapter for WebGPU."""
    flags = [*BROWSER_FLAGS, "--enable-unsafe-webgpu"]
    with browser.browser_type.launch(executable_path=chromium(), args=flags) as found:
        yield found


@contextmanager
def opening(browser, live_folder, address: str, script: str = ""):
    """The page with the small model, and a script before the worker's own, once it shows a photograph."""
    worker = script + (live_folder / "live_worker.js").read_text(encoding="utf-8")
    calm = {"service_workers": "block", "reduced_motion": "reduce"}
    with served(live_folder) as server, browser.new_context(**calm) as context:
        context.route("**/models/vit-s14*", lambda route: route.abort())  # it would be loaded next
        context.route("**/live_worker.js", lambda route: route.fulfill(body=worker, content_type="text/javascript"))
        page = visit(context, f"{server.address}/?model=tiny-cifar&{address}")
        wait_shown(page, "tiny-cifar")
        page.loaded = [name for name, place in SCRIPTS.items() if place in server.asked]
        yield page
        assert page.errors == [] and page.outside == []


def check_processor(browser, live_folder, address: str, script: str, loaded: list[str], told: str) -> None:
    """Asserts that the processor computes the right maps, and that the page says so; `loaded` are its runtimes."""
    with opening(browser, live_folder, address, script) as page:
        assert page.loaded == loaded
        assert page.inner_text(".live-computes").startswith(BY_PROCESSOR + told)
        compare(page, pretrained.load_run("tiny-cifar"), "cat", (0, 3))


@pytest.mark.parametrize(
    ("address", "script", "loaded", "told"),
    [
        ("gpu=1", "navigator.gpu.requestAdapter = async () => null;", ["processor"], "."),
        ("gpu=1", "delete WebAssembly.Suspending;", ["processor"], "."),
        ("gpu=1", "GPUAdapter.prototype.requestDevice = async () => { throw 'no'; };", ["processor"], "."),
        ("gpu=2", "", ["processor"], "."),  # it is of software, and nobody asks for that
        ("gpu=1", WRONG, ["card"], ": the graphics card gives other numbers."),
        ("", REAL + WAIT.format(1e9), ["card"], ": a layer takes "),
    ],
)
def test_the_processor_computes_where_a_card_cannot(carded, live_folder, address, script, loaded, told):
    check_processor(carded, live_folder, address, script, loaded, told)


@pytest.mark.parametrize(
    ("address", "script", "loaded", "told"),
    [
        ("gpu=0", REAL, ["processor"], "."),
        ("gpu=1", FULL % 30_000, ["card"], ": the graphics card cannot compute a layer, or not in time."),
        ("gpu=1", FULL % 0, ["card", "processor"], "."),  # within the runtime, which is of no use then
        ("", REAL + WAIT.format(0), ["card"], ": the graphics card cannot compute a layer, or not in time."),
    ],
)
def test_the_processor_computes_where_a_card_fails_at_once(carded, live_folder, address, script, loaded, told):
    check_processor(carded, live_folder, address, script, loaded, told)


def test_a_card_that_is_lost_leaves_the_question_to_the_processor(carded, live_folder):
    with opening(carded, live_folder, "gpu=1", LOST) as page:
        page.evaluate("""window.handed = []; workers.at(-1).addEventListener("message", ({ data: { kind, handed } }) =>
            kind === "handed" && window.handed.push(handed))""")
        assert "by the graphics card: a layer takes" in page.inner_text(".live-computes") and "&gpu=1" in page.url
        run = pretrained.load_run("tiny-cifar")
        compare(page, run, "cat", (0, 1, 2, 3))
        for photograph in ("coffee", "dahlia", "rocket", "clock"):
            before = question(page)
            page.click(f'[data-photograph="photographs/{photograph}.jpg"]')
            wait_shown(page, "tiny-cifar", before)
            compare(page, run, photograph, (0, 1, 2, 3))
            said = page.inner_text(".live-words").endswith("is no longer available: the processor computes.")
            assert said == (photograph == "dahlia")
        coffee, dahlia, rocket, clock = page.evaluate("handed")
        assert rocket - dahlia < dahlia - coffee, "some of the layers of the dahlia, all of those of the coffee"
        assert rocket == clock, "and none after the card was lost"
        assert page.inner_text(".live-computes") == f"{BY_PROCESSOR}: the graphics card is no longer available."


def test_the_large_model_and_changes_of_it_by_a_card_as_in_pytorch(carded, live_folder):
    run = pretrained.load_run("vit-s14-cifar10", image_size=224)
    by_card(carded, live_folder, "vit-s14", run, [TWENTY[19], TWENTY[10]])


def test_the_small_model_and_a_change_of_it_by_a_card_as_in_pytorch(carded, live_folder):
    by_card(carded, live_folder, "tiny-cifar", pretrained.load_run("tiny-cifar"), [CHANGES])


def by_card(carded, live_folder, model: str, run, changes: list[list[dict]]) -> None:
    """A model on its worker, as it is and changed, beside PyTorch."""
    shape = run[0].config
    with worker_page(carded, live_folder, query="?gpu=1") as page:
        open_model(page, model)
        assert page.evaluate(LOOK, [model, shape.image_size[0], "cat"]) is None
        compare(page, run, "cat", (0, shape.num_layers - 1))
        for interventions in changes:
            compare_changed(page, run, "cat", interventions)
        assert page.evaluate("name => models.states[name].computes.by", model) == "card", "until the end"
