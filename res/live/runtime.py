"""ONNX Runtime for the browser, as it lies in runtime/: from npm, of one version, and squeezed.

    python res/live/runtime.py

Needs npm and pip. Takes the script and the WebAssembly of onnxruntime-web, and the licence and the notices of what is
built into it from the package of the same version on PyPI, because the one on npm brings none. Each file is compared
with the SHA-256 below. There are two builds, of which a browser loads one: for processors with one thread or more, and,
about half a megabyte larger, for these and for graphics cards (WebGPU), in browsers with JavaScript Promise Integration
(see README.md).
"""

import gzip
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

VERSION = "1.30.0"
OUT = Path(__file__).parent / "runtime"
SCRIPT, BINARY = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"
CARD_SCRIPT, CARD_BINARY = "ort.jspi.bundle.min.mjs", "ort-wasm-simd-threaded.jspi.wasm"
PUBLISHED = (SCRIPT, BINARY, CARD_SCRIPT, CARD_BINARY)
SUMS = {
    SCRIPT: "11e64bd8ffe11bd1a2a2f0d6275fdfbbba7262f0b76b99b53d228a8a22ef3d90",
    BINARY: "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2",
    CARD_SCRIPT: "07ec090355e11b342c95436db54da2d0c2bd5b1d319745bfd3337e6bdcf170ac",
    CARD_BINARY: "a54c76f86b0f0d9572380cf1c6292a7b3903716ffcbcd6b0e5c7050bf430eb93",
    "LICENSE": "2f07c72751aed99790b8a4869cf2311df85a860b22ded05fa22803587a48922c",
    "ThirdPartyNotices.txt": "143764b952fdb1a7c69ce653bfba74a7744d6a8a573bfb73e235fba356c83de3",
}
SQUEEZED = (BINARY, CARD_BINARY, "ThirdPartyNotices.txt")


def download(folder: Path) -> dict[str, bytes]:
    """-> the content of each file of SUMS."""
    subprocess.run([shutil.which("npm"), "pack", "--silent", f"onnxruntime-web@{VERSION}"], cwd=folder, check=True)
    package = ("pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", f"onnxruntime=={VERSION}")
    subprocess.run([sys.executable, "-m", *package], cwd=folder, check=True)
    (archive,), (wheel,) = folder.glob("*.tgz"), folder.glob("*.whl")
    with tarfile.open(archive) as packed, zipfile.ZipFile(wheel) as zipped:
        found = {name: packed.extractfile(f"package/dist/{name}").read() for name in PUBLISHED}
        return found | {name: zipped.read(f"onnxruntime/{name}") for name in SUMS if name not in found}


def main() -> None:
    """Writes the files, or says which is not the one that is expected."""
    with tempfile.TemporaryDirectory() as folder:
        found = download(Path(folder))
    for name, content in found.items():
        if (given := hashlib.sha256(content).hexdigest()) != SUMS[name]:
            sys.exit(f"{name} has SHA-256 {given}, expected is {SUMS[name]}: nothing was written")
    OUT.mkdir(exist_ok=True)
    for name, content in found.items():
        if name in SQUEEZED:
            name, content = f"{name}.gz", gzip.compress(content, 9, mtime=0)
        (OUT / name).write_bytes(content)
        print(f"{name}: {len(content):,} bytes")


if __name__ == "__main__":
    main()
