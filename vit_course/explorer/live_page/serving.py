"""A server for the live page on this machine, with the headers that let a browser compute with several threads."""

from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Browsers allow threads with shared memory only to pages that are isolated from other origins (the first two headers).
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cache-Control": "no-cache",  # so that a page that was written again is shown at once
}
# Set here because on Windows they would come from the registry, where other programs may have changed them.
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html"}


class Handler(SimpleHTTPRequestHandler):
    """Serves files as `python -m http.server` does, with the headers above and without logging each request."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | TYPES

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_) -> None:
        """Logs nothing."""


def serve(folder: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serves a live page to this machine alone, until it is interrupted.

    Args:
        folder: the page.
        port: where; 0 for any that is free.
        ready: called with the address once the server listens.

    Raises:
        OSError, ValueError: a port that is taken, or that does not exist.
    """
    if not 0 <= port < 65536:
        raise ValueError(f"--port must be 0 to 65535, got {port}")
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(Handler, directory=str(folder)))
    except OSError as error:
        raise OSError(f"port {port} cannot be used ({error.strerror}): choose another with --port") from error
    with server:
        ready(f"http://localhost:{server.server_port}")
        server.serve_forever()
