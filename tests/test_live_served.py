"""`live --serve` as a server of files should be: ranges, names, links, connections that break off or say nothing."""

import http.client
import os
import socket
import struct
import time
from urllib.parse import urlsplit

import pytest
from served import as_live

pytestmark = pytest.mark.slow
CONTENT = bytes(range(256)) * 4


@pytest.fixture
def folder(tmp_path):
    """A folder to be served, with a secret beside it and links to that."""
    folder = tmp_path / "page"
    (folder / "below").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>Page</h1>")
    (folder / "numbers.bin").write_bytes(CONTENT)
    (folder / "module.mjs").write_text("export {}")
    (folder / "large.bin").write_bytes(bytes(30_000_000))
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "out").symlink_to(tmp_path)
    (folder / "inside.bin").symlink_to(folder / "numbers.bin")
    return folder


def asked(server, name: str, **headers):
    """-> (status, headers, body)"""
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=60)
    connection.request("GET", name, headers={key.replace("_", "-"): value for key, value in headers.items()})
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read()


def test_whole_files_and_ranges(folder):
    with as_live(folder) as server:
        assert asked(server, "/")[::2] == (200, b"<h1>Page</h1>")
        status, headers, body = asked(server, "/numbers.bin")
        assert (status, body, headers["Accept-Ranges"]) == (200, CONTENT, "bytes")
        for wanted, part in (("10-19", CONTENT[10:20]), ("1000-", CONTENT[1000:]), ("-5", CONTENT[-5:]),
                             ("1020-9999", CONTENT[1020:])):  # fmt: skip
            status, headers, body = asked(server, "/numbers.bin", Range=f"bytes={wanted}")
            first = len(CONTENT) - len(part) if part == CONTENT[-len(part) :] else 10
            assert (status, body) == (206, part)
            assert headers["Content-Range"] == f"bytes {first}-{first + len(part) - 1}/1024"
            assert headers["Cross-Origin-Embedder-Policy"] == "require-corp"
        status, headers, _ = asked(server, "/numbers.bin", Range="bytes=1024-")
        assert (status, headers["Content-Range"]) == (416, "bytes */1024")
        for strange in ("bytes=1-2,5-6", "lines=1-2", "bytes=x"):
            assert asked(server, "/numbers.bin", Range=strange)[::2] == (200, CONTENT)
        assert asked(server, "/numbers.bin", Range="bytes=1-2", If_Range='"other"')[::2] == (200, CONTENT)
        assert asked(server, "/module.mjs")[1]["Content-Type"].startswith("text/javascript")
        since = headers["Last-Modified"] or asked(server, "/numbers.bin")[1]["Last-Modified"]
        assert asked(server, "/numbers.bin", If_Modified_Since=since)[0] == 304
        (folder / "index.html").write_text("<h1>Anew</h1>")
        assert asked(server, "/")[2] == b"<h1>Anew</h1>"
    assert server.complaints == ""


def test_nothing_outside_the_folder(folder):
    with as_live(folder) as server:
        names = ("link.txt", "out/secret.txt", "../secret.txt", "%2e%2e/secret.txt", "..%2fsecret.txt", "below/", "no",
                 "%00", "index.html%00", "%ff", "x" * 5000)  # fmt: skip
        for name in names:
            status, _, body = asked(server, f"/{name}")
            assert status in (400, 403, 404) and b"secret</" not in body and body != b"secret", name
        assert asked(server, "/inside.bin")[::2] == (200, CONTENT)
    assert "Traceback" not in server.complaints


def test_connections_that_break_off_or_say_nothing(folder):
    with as_live(folder, patience=1) as server:
        place = urlsplit(server.address).hostname, urlsplit(server.address).port
        for _ in range(3):
            with socket.create_connection(place) as broken:
                broken.sendall(b"GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\n")
                broken.recv(1000)
                broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # ends by a reset
        half = socket.create_connection(place)
        half.sendall(b"GET /numbers.bin HTTP/1.1\r\nHost")
        began = time.monotonic()
        half.settimeout(60)
        assert half.recv(1) == b"" and time.monotonic() - began > 0.5, "closed by the server"
        assert asked(server, "/numbers.bin")[2] == CONTENT
    assert server.complaints == ""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_keeps_nobody_waiting(folder):
    os.mkfifo(folder / "pipe.bin")
    with as_live(folder) as server:
        assert asked(server, "/pipe.bin")[0] in (403, 404)
        assert asked(server, "/numbers.bin")[2] == CONTENT
