"""A server for the live page on this machine, with the headers that let a browser compute with several threads."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from socket import socket

from vit_course._support.inputs.extras import extra

with extra("course", "live --serve"):
    from tornado.httpserver import HTTPServer
    from tornado.netutil import bind_sockets
    from tornado.web import Application, HTTPError, StaticFileHandler

# Browsers allow threads with shared memory only to pages that are isolated from other origins (the first two headers).
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cache-Control": "no-cache",  # so that a page that was written again is shown at once
}
# Set here because on Windows they would come from the registry, where other programs may have changed them.
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".html": "text/html"}
PATIENCE = 30  # seconds within which a browser must have sent its whole request


class Handler(StaticFileHandler):
    """Serves the files of a folder, whole or a range of their bytes, with the headers above."""

    def set_default_headers(self) -> None:
        for name, value in HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        """Answers with the whole file where the browser wants a range only of the version that it has in part."""
        if "If-Range" in self.request.headers:
            self.request.headers.pop("Range", None)

    def validate_absolute_path(self, root: str, absolute_path: str) -> str | None:
        try:
            return super().validate_absolute_path(root, absolute_path)
        except ValueError as error:  # a name that no file can have
            raise HTTPError(404) from error

    def get_content_type(self) -> str:
        return TYPES.get(Path(self.absolute_path).suffix) or super().get_content_type()

    def compute_etag(self) -> None:
        """Gives no tag: Tornado computes it once, and the page may be written again while it is served."""


def server(folder: Path) -> HTTPServer:
    """Returns a web server of a folder's files, which logs nothing and waits for no half request."""
    files = {"path": str(folder), "default_filename": "index.html"}
    application = Application([("/(.*)", Handler, files)], log_function=lambda _: None)
    return HTTPServer(application, idle_connection_timeout=PATIENCE, body_timeout=PATIENCE)


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
        sockets = bind_sockets(port, "127.0.0.1")
    except OSError as error:
        raise OSError(f"port {port} cannot be used ({error.strerror}): choose another with --port") from error
    asyncio.run(_serve(folder, sockets, ready))


async def _serve(folder: Path, sockets: list[socket], ready: Callable[[str], None]) -> None:
    server(folder).add_sockets(sockets)
    ready(f"http://localhost:{sockets[0].getsockname()[1]}")
    await asyncio.Event().wait()
