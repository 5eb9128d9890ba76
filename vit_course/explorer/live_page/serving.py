"""A server for the live page on this machine, with the headers that let a browser compute with several threads."""

from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Only a page that nothing of another origin shares its memory with may have threads that share theirs.
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cache-Control": "no-cache",  # a page that was written anew is seen at once
}
# Windows asks its registry for these, where other programs have written.
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html"}


class Handler(SimpleHTTPRequestHandler):
    """Files as `python -m http.server` gives them, with the headers, and without a line on the screen for each."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | TYPES

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_) -> None:
        """Says nothing."""


def serve(folder: Path, port: int, ready: Callable[[str], None]) -> None:
    """Serves a live page to this machine alone, until it is interrupted.

    Args:
        folder: the page.
        port: where; 0 for any that is free.
        ready: hears the address once the server listens.

    Raises:
        OSError, ValueError: a port that is taken, or that there is not.
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
