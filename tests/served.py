"""A server of static files that records the requests."""

import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace


class Handler(SimpleHTTPRequestHandler):
    """As `python -m http.server`, silent."""

    def log_message(self, *_):
        """Prints nothing: `do_GET` records the requests in a list of the server."""

    def do_GET(self):
        self.server.asked.append(self.path.lstrip("/"))
        super().do_GET()


class Ranged(Handler):
    """Serves byte ranges, if `.server.parts`; ends early, once, in the files of `.server.ends`, {name: bytes}."""

    def do_GET(self):
        name, given = self.path.lstrip("/"), self.headers["Range"]
        if name not in self.server.ends and not given:
            return super().do_GET()
        self.server.asked.append(f"{name} {given or ''}".strip())
        content = Path(self.translate_path(self.path)).read_bytes()
        begin = int(given.removeprefix("bytes=")[:-1]) if given and self.server.parts else 0
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(content) - begin))
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        if self.server.parts:
            self.send_header("Accept-Ranges", "bytes")
        self.end_headers()
        self.wfile.write(self.server.change(content)[begin : self.server.ends.pop(name, None)])
        return None


def served(folder: Path):
    """A server of static files."""
    return answering(partial(Handler, directory=str(folder)))


@contextmanager
def answering(handler, port: int = 0):
    """Yields a running server with this handler; `.address` is its address, `.asked` the list of its requests."""
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.asked, server.address = [], f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


AS_LIVE = """
import sys
from pathlib import Path
from vit_course.explorer.live_page import serving
serving.PATIENCE = float(sys.argv[2])
serving.serve(Path(sys.argv[1]), 0, lambda address: print(address, flush=True))
"""


@contextmanager
def as_live(folder: Path, patience: float = 30):
    """Yields the server of `live --serve`; `.address` is its address, and at the end `.complaints` what it printed."""
    command = [sys.executable, "-c", AS_LIVE, str(folder), str(patience)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        server = SimpleNamespace(address=process.stdout.readline().strip(), complaints=None)
        try:
            yield server
        finally:
            process.kill()
            server.complaints = process.communicate()[1]
