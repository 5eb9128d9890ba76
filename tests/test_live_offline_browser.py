"""The live page's service worker: it opens without its server, and brings the headers that threads need."""

import shutil
from functools import partial

import pytest
from explored import NEEDS_CHROMIUM
from lab import until
from live_page import computed_here, question, visit, wait_shown
from served import Handler, answering, as_live, served

pytestmark = [pytest.mark.thorough, NEEDS_CHROMIUM]
CONTROLLED = "navigator.serviceWorker.controller !== null"
SMALL = "?model=tiny-cifar"


@pytest.fixture
def context(browser):
    context = browser.new_context()
    yield context
    context.close()


def counted(context) -> list[str]:
    """The pages that are opened from now on."""
    loads = []
    context.on("request", lambda request: loads.append(request.url) if request.is_navigation_request() else None)
    return loads


def kept(page) -> None:
    """Waits until the browser has all files of the page."""
    kept = """async () => {
        const { shell } = JSON.parse(document.querySelector("#live-page").textContent);
        const store = await caches.open("vit-course-page");
        return !(await Promise.all(shell.map((file) => store.match(file)))).includes(undefined);
    }"""
    until(lambda: page.evaluate(kept), page)


def test_any_server_gives_threads_and_the_second_visit_needs_none(context, live_folder):
    loads = counted(context)
    with served(live_folder) as server:
        page = visit(context, server.address)
        computed_here(page)
        assert page.evaluate("crossOriginIsolated") and len(loads) == 2, "loaded anew once"
        kept(page)
        assert page.errors == [] and page.outside == []
        page.close()
        page = visit(context, f"{server.address}/?photograph=dahlia")
        computed_here(page)
        assert page.evaluate("crossOriginIsolated") and len(loads) == 3, "and never again"
        page.close()
    page = visit(context, f"{server.address}/?photograph=dahlia")
    wait_shown(page, "vit-s14 224")
    assert page.inner_text(".live-words").endswith("computed beforehand, not here."), "kept, as it was chosen before"
    page.goto(f"{server.address}/?photograph=rocket")
    wait_shown(page, "vit-s14 224")
    assert page.evaluate("document.documentElement.dataset.computed") == "here"
    missing = page.evaluate("[...document.images].filter((image) => !image.complete || !image.naturalWidth).length")
    assert missing == 0 and page.evaluate("crossOriginIsolated")
    before = question(page)
    page.click('[data-photograph="photographs/galaxies.jpg"]')
    wait_shown(page, "vit-s14 224", before)
    page.click(".vit-more > summary")
    with page.expect_download():
        page.get_by_role("button", name="Save as page").click()
    assert page.errors == [] and page.outside == []


def test_a_server_with_the_headers_has_its_page_loaded_once(context, live_folder):
    loads = counted(context)
    with as_live(live_folder) as server:
        page = visit(context, server.address + SMALL)
        wait_shown(page, "tiny-cifar")
        assert page.evaluate("crossOriginIsolated") and len(loads) == 1
        kept(page)
        page.close()
    page = visit(context, server.address + SMALL)
    wait_shown(page, "tiny-cifar")
    assert page.errors == []


def test_threads_are_as_many_as_the_headers_allow(browser, live_folder):
    for serving, most in ((as_live, 4), (served, 1)):
        with serving(live_folder) as server:
            page = browser.new_page(service_workers="block")
            page.add_init_script("const Plain = Worker; window.told = []; window.Worker = class extends Plain {"
                                 "postMessage(one) { told.push(one); super.postMessage(one); } }")  # fmt: skip
            page.goto(server.address + SMALL)
            wait_shown(page, "tiny-cifar")
            cores = page.evaluate("navigator.hardwareConcurrency")
            assert page.evaluate("told[0].threads") == min(most, cores)
            page.close()


class Redirects(Handler):
    """Another owner of the address, whose first page is elsewhere."""

    def do_GET(self):
        if self.path != "/":
            return super().do_GET()
        self.send_response(302)
        self.send_header("Location", "/lab.html")
        self.end_headers()
        return None


@pytest.mark.parametrize("opened", ["/", "/lab.html"])
@pytest.mark.parametrize("owner", ["redirects", "has nothing there"])
def test_an_owner_who_answers_in_another_way_has_the_address_forgotten(opened, owner, context, live_folder, tmp_path):
    (tmp_path / "lab.html").write_text("<!DOCTYPE html><title>Another</title><h1>Another project</h1>")
    with served(live_folder) as server:
        page = visit(context, server.address + SMALL)
        wait_shown(page, "tiny-cifar")
        kept(page)
        port = server.server_port
    handler = Redirects if owner == "redirects" else Handler
    kind = type("At", (handler,), {"list_directory": lambda self, _: self.send_error(404)})
    with answering(partial(kind, directory=str(tmp_path)), port):
        page.goto(server.address + opened)
        until(lambda: page.evaluate("navigator.serviceWorker.getRegistration().then((found) => !found)"), page)
        left = "caches.open('vit-course-page').then((store) => store.keys()).then((keys) => keys.length)"
        assert page.evaluate(left) == 0


# A browser that forgets its service workers would have the page loaded anew again and again.
FORGETS = """const never = { get: () => null };
Object.defineProperty(ServiceWorkerContainer.prototype, 'controller', never);
Object.defineProperty(ServiceWorkerRegistration.prototype, 'active', never);
Object.defineProperty(window, 'crossOriginIsolated', { get: () => false });
setInterval(() => navigator.serviceWorker.dispatchEvent(new Event('controllerchange')), 50);"""


@pytest.mark.parametrize("how", ["no headers", "forgets", "touched", "no script", "no storage"])
def test_it_is_never_loaded_in_a_circle_nor_away_from_a_visitor(how, browser, live_folder, tmp_path):
    folder = tmp_path / "page"
    shutil.copytree(live_folder, folder)
    script = {
        "forgets": FORGETS,
        "no headers": "Object.defineProperty(window, 'crossOriginIsolated', { get: () => false })",
        "touched": "setInterval(() => document.dispatchEvent(new Event('pointerdown')), 2)",
        "no storage": "Object.defineProperty(window, 'sessionStorage', { get: () => { throw new Error('none') } })",
    }.get(how, "")
    if how == "no script":
        (folder / "live_service.js").unlink()
    with served(folder) as server, browser.new_context() as context:
        context.add_init_script(script)
        loads = counted(context)
        page = visit(context, server.address + SMALL)
        wait_shown(page, "tiny-cifar")
        if how not in ("no script", "forgets"):
            page.wait_for_function(CONTROLLED)
        once = 2 if how in ("no headers", "forgets") else 1
        assert len(loads) == once
        page.reload()
        wait_shown(page, "tiny-cifar")
        assert len(loads) == once + 1 and page.errors == []


def test_what_the_server_has_is_shown_and_another_owner_of_the_address_gets_it(context, live_folder, tmp_path):
    folder = tmp_path / "page"
    shutil.copytree(live_folder, folder)
    with served(folder) as server:
        page = visit(context, server.address + SMALL)
        wait_shown(page, "tiny-cifar")
        kept(page)
        text = (folder / "index.html").read_text()
        (folder / "index.html").write_text(text.replace("<h1>", "<h1>Anew: "))
        page.reload()
        wait_shown(page, "tiny-cifar")
        assert page.inner_text("h1").startswith("Anew: ")
        (folder / "index.html").write_text("<!DOCTYPE html><title>Another</title><h1>Another project</h1>")
        page.goto(server.address)
        until(lambda: page.evaluate("navigator.serviceWorker.getRegistration().then((found) => !found)"), page)
        assert page.inner_text("h1") == "Another project" and not page.evaluate("crossOriginIsolated")
        left = "caches.open('vit-course-page').then((store) => store.keys()).then((keys) => keys.length)"
        assert page.evaluate(left) == 0
