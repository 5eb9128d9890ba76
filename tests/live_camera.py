"""A browser with a fake camera, and how a test uses it on the live page."""

from contextlib import contextmanager

from lab import BROWSER_FLAGS, chromium
from live_page import question, visit, wait_shown

FAKE = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
# Keeps the tracks; `fails` is the error that comes instead, `still` a canvas that is filmed in place of the camera.
WATCH = """window.tracks = [];
const media = navigator.mediaDevices, ask = media.getUserMedia.bind(media);
media.getUserMedia = async (wanted) => {
    if (window.fails) throw new DOMException("no", window.fails);
    const stream = window.still ? window.still.captureStream(5) : await ask(wanted);
    window.tracks.push(...stream.getTracks());
    return stream;
};"""


@contextmanager
def with_camera(browser, **options):
    """A context of a browser like this one that has a camera."""
    seeing = browser.browser_type.launch(executable_path=chromium(), args=[*BROWSER_FLAGS, *FAKE])
    context = seeing.new_context(viewport={"width": 1280, "height": 900}, **options)
    context.add_init_script(WATCH)
    yield context
    seeing.close()


def opened(context, address: str):
    """The live page with the small model and a photograph, before anybody has asked for the camera."""
    page = visit(context, f"{address}/?photograph=coffee&model=tiny-cifar")
    wait_shown(page, "tiny-cifar")
    page.wait_for_function("window.said.some(([kind, model]) => kind === 'ready' && model === 'vit-s14')")
    return page


def film(page, model: str = "tiny-cifar", frames: int = 3) -> None:
    """Starts the camera, and waits for so many frames."""
    before = question(page)
    page.click("[data-camera]")
    wait_shown(page, model, before + frames)
