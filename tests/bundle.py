"""Puts the modules of `vit_course/explorer/js` together into the scripts that are shipped, with esbuild.

    python tests/bundle.py [NAME ...]

Needs node once: `npx` fetches esbuild of the version below, unless ESBUILD names one or one of that version is on the
PATH. The first line of a bundle holds a hash of its sources and one of itself, so that a test finds it stale, or
edited by hand, without node. After a merge that leaves a bundle in conflict, run this.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ESBUILD = "0.28.2"
FOLDER = Path(__file__).parents[1] / "vit_course" / "explorer"
SOURCES, BUNDLES = FOLDER / "js", FOLDER / "static"
ENTRIES = ("widget", "page", "upload", "live", "live_worker")
IMPORT = re.compile(r'^(?:import|export)\b[^;"]*"\./([\w.]+)"(?: with [^;]*)?;', re.MULTILINE)


def modules(name: str) -> list[Path]:
    """An entry and all that it imports of ours, in an order that does not change."""
    found, waiting = set(), [f"{name}.js"]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += IMPORT.findall((SOURCES / file).read_text(encoding="utf-8"))
    return [SOURCES / file for file in sorted(found)]


def head(name: str, body: bytes) -> bytes:
    """The first line of a bundle."""
    sources = hashlib.sha256(ESBUILD.encode())
    for path in modules(name):
        sources.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    both = f"sources {sources.hexdigest()[:16]} bundle {hashlib.sha256(body).hexdigest()[:16]}"
    return f"// Made by tests/bundle.py; do not edit. {both}\n".encode()


def stale(name: str) -> bool:
    """Whether a bundle is missing, older than its sources, or edited by hand."""
    path = BUNDLES / f"{name}.js"
    if not path.is_file():
        return True
    first, _, body = path.read_bytes().partition(b"\n")
    return first + b"\n" != head(name, body)


def esbuild() -> list[str]:
    """The command that runs esbuild of the version above."""
    for command in (os.environ.get("ESBUILD"), shutil.which("esbuild")):
        if command:
            done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
            if done.stdout.strip() == ESBUILD:
                return [command]
    return ["npx", "--yes", f"esbuild@{ESBUILD}"]


def bundle(name: str) -> None:
    """Writes `static/NAME.js`."""
    command = [*esbuild(), str(SOURCES / f"{name}.js"), "--bundle", "--format=esm", "--minify", "--target=es2022"]
    done = subprocess.run([*command, "--charset=utf8", "--legal-comments=none"], capture_output=True, check=False)
    if done.returncode:
        sys.exit(done.stderr.decode())
    BUNDLES.mkdir(exist_ok=True)
    (BUNDLES / f"{name}.js").write_bytes(head(name, done.stdout) + done.stdout)
    print(f"{name}.js: {len(done.stdout)} bytes")


if __name__ == "__main__":
    for entry in sys.argv[1:] or ENTRIES:
        bundle(entry)
