"""Bundles the modules in the `js` folders of the package into the shipped scripts, with esbuild.

    python tests/bundle.py [PACKAGE/NAME ...]

Needs node: `npx` fetches esbuild of the version below, unless ESBUILD or the PATH has that version, and `npm` fetches
the libraries. The first line of a bundle holds a hash of its sources and one of itself, so that a test without node can
see whether it is stale or edited by hand. Run this also after a merge conflict in a bundle.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ESBUILD = "0.28.2"
LIBRARIES = "lit-html@3.3.3"  # BSD-3-Clause; its notice is in the bundles
PACKAGE = Path(__file__).parents[1] / "vit_course"
EXPLORER = ("widget", "upload", "live", "live_worker", "live_service")
STORY = ("story", "story_worker")
IMPORT = re.compile(r'^(?:import|export)\b[^;"]*"(\.[\w./]+)"(?: with [^;]*)?;', re.MULTILINE)


def entries() -> list[str]:
    """The names of all bundles: those of the explorer, of the story, and of each explorable that has a JSON table."""
    tables = sorted((PACKAGE / "explorables" / "js").glob("*.json"))
    return [
        *(f"explorer/{name}" for name in EXPLORER),
        *(f"explorables/{name}" for name in (*STORY, *(table.stem for table in tables))),
    ]


def source(name: str) -> Path:
    """The entry module of a bundle."""
    package, entry = name.split("/")
    return PACKAGE / package / "js" / f"{entry}.js"


def made(name: str) -> Path:
    """The file of a bundle."""
    package, entry = name.split("/")
    return PACKAGE / package / "static" / f"{entry}.js"


def modules(name: str) -> list[Path]:
    """The entry module and all modules of ours that it imports, sorted."""
    found, waiting = set(), [source(name)]
    while waiting:
        file = waiting.pop().resolve()
        if file not in found:
            found.add(file)
            waiting += [file.parent / other for other in IMPORT.findall(file.read_text(encoding="utf-8"))]
    return sorted(found)


def head(name: str, body: bytes) -> bytes:
    """The first line of a bundle."""
    sources = hashlib.sha256(f"{ESBUILD} {LIBRARIES}".encode() if name.startswith("explorables/") else ESBUILD.encode())
    for path in modules(name):
        sources.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    both = f"sources {sources.hexdigest()[:16]} bundle {hashlib.sha256(body).hexdigest()[:16]}"
    return f"// Made by tests/bundle.py; do not edit. {both}\n".encode()


def stale(name: str) -> bool:
    """Whether a bundle is missing, older than its sources, or edited by hand."""
    path = made(name)
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


def bundle(name: str, libraries: Path) -> None:
    """Writes the script of one bundle.

    Args:
        name: PACKAGE/NAME.
        libraries: the folder of the libraries; missing ones are fetched into it.
    """
    if name.startswith("explorables/") and not (libraries / "node_modules" / "lit-html").is_dir():
        install = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(libraries), LIBRARIES]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    command = [*esbuild(), str(source(name)), "--bundle", "--format=esm", "--minify", "--target=es2022"]
    environment = os.environ | {"NODE_PATH": str(libraries / "node_modules")}
    # An import that is not exported would be undefined in the page; esbuild only warns of it by default.
    more = [
        "--log-override:import-is-undefined=error",
        "--charset=utf8",
        "--legal-comments=" + ("eof" if name.startswith("explorables/") else "none"),
    ]
    done = subprocess.run([*command, *more], capture_output=True, check=False, env=environment)
    if done.returncode:
        sys.exit(done.stderr.decode())
    made(name).parent.mkdir(exist_ok=True)
    made(name).write_bytes(head(name, done.stdout) + done.stdout)
    print(f"{name}: {len(done.stdout)} bytes")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for entry in sys.argv[1:] or entries():
            bundle(entry, Path(folder))
