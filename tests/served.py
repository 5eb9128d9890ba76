"""A folder behind a server of static files, which notes what is asked for."""

import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(SimpleHTTPRequestHandler):
    """As `python -m http.server`, silent."""

    def log_message(self, *_):
        """Not on the screen: in a list of the server."""

    def do_GET(self):
        self.server.asked.append(self.path.lstrip("/"))
        super().do_GET()


def served(folder: Path):
    """A server of static files."""
    return answering(partial(Handler, directory=str(folder)))


@contextmanager
def answering(handler):
    """Yields a server that answers by this; `.address` is where it is, `.asked` a list for what it was asked for."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.asked, server.address = [], f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
