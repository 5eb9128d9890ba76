"""Writes the folder of the live page."""

import gzip
import hashlib
import html
import json
import shutil
import string
import tempfile
from pathlib import Path

from vit_course._support.files.course_files import stored
from vit_course._support.files.output_folder import need_output_folder, write_output_folder
from vit_course._support.widgets import pages, scripts
from vit_course.data.photographs import Photograph, photographs
from vit_course.explorer.live_page.models import MODELS, PATCH, describe
from vit_course.explorer.live_page.precompute import precompute

HERE = Path(__file__).parent
# The two builds of ONNX Runtime, of which a browser loads one: "card" can also compute on a graphics card.
RUNTIME = {
    "processor": {"script": "ort.wasm.bundle.min.mjs", "binary": "ort-wasm-simd-threaded.wasm.gz"},
    "card": {"script": "ort.jspi.bundle.min.mjs", "binary": "ort-wasm-simd-threaded.jspi.wasm.gz"},
}
NOTICES = ("LICENSE", "ThirdPartyNotices.txt.gz")
MARKER = "live.json"
# The photographs whose maps are clearest come first; those that are not named here follow.
FIRST = ("cat", "astronaut", "dahlia", "grace_hopper", "pagoda", "coffee", "rocket")
# Measured: 2.5 and 6 times as long as 16 x 16 patches, which take less than a second.
SLOWER = {336: ", slower", 448: ", slowest"}
THUMBNAIL = 160  # pixels a side, twice the displayed size, for high-resolution screens


def write_live(out: str | Path, *, overwrite: bool = False, home: str | None = None) -> int:
    """Writes the live page into a folder, which any server of static files can then serve.

    Args:
        out: the folder; it is made where it is not there.
        overwrite: replace a live page that already exists.
        home: the address that the link "The course" leads to; None for no link.

    Returns:
        the bytes of all files.

    Raises:
        ValueError: as `write_output_folder`.
        OSError: this installation has no files of the course, or as `write_atomically`.
    """
    need_output_folder(out, MARKER, overwrite)
    with tempfile.TemporaryDirectory() as name:
        make_live(Path(name), home)
        return sum(path.stat().st_size for path in write_output_folder(out, Path(name), MARKER, overwrite))


def is_live(out: Path) -> bool:
    """Whether a folder holds a live page."""
    try:
        files = need_output_folder(out, MARKER)["files"]
    except ValueError:
        return False
    return {"index.html", "live.js"} <= {*files} and (out / "index.html").is_file()


def make_live(out: Path, home: str | None = None) -> None:
    """Writes the files of the live page into an empty folder; see `write_live`."""
    live = stored("live")
    page = {
        "runtime": {
            build: {part: _copy(live / "runtime" / name, out, "runtime") for part, name in files.items()}
            for build, files in RUNTIME.items()
        },
        "models": {name: describe(name, live, lambda path, new: _copy(path, out, "models", new)) for name in MODELS},
    }
    # Browsers cache the files by version, and discard those of other versions.
    page["version"] = hashlib.sha256(json.dumps(page, sort_keys=True).encode()).hexdigest()[:16]
    for name in NOTICES:
        shutil.copyfile(live / "runtime" / name, out / "runtime" / name)
    for name in ("live", "live_worker", "live_service"):
        shutil.copyfile(scripts.PACKAGE / "explorer" / "static" / f"{name}.js", out / f"{name}.js")
    (out / "explorer.css").write_text(scripts.style("explorer"), encoding="utf-8")
    shutil.copyfile(scripts.PACKAGE / "explorer" / "js" / "live.css", out / "live.css")
    # The template of a saved explorer page: live/save.js replaces the words in curly brackets. As .txt, as it is not a
    # page to be opened.
    body, style = pages.place("explorer", "{the state}", "{the data}"), scripts.style("explorer", "page")
    (out / "saved.txt").write_bytes(pages.document("{the title}", style, body, scripts.module("explorer")))
    pictures = _pictures(out)
    # The files that are cached to open the page offline, the page itself last; models and runtime are cached apart.
    shell = (*out.glob("*.js"), *out.glob("*.css"), *out.glob("*.txt"))
    page["shell"] = [*sorted(path.relative_to(out).as_posix() for path in (*shell, *out.glob("photographs/*"))), "./"]
    (out / "index.html").write_text(_page(page, pictures, home), encoding="utf-8")


def _copy(path: Path, out: Path, folder: str, new: str | None = None) -> dict:
    """Copies a file; returns its place in the folder, its size and its checksum, which the browser verifies.

    For a .gz also the checksum of its content, as some servers unpack such a file by themselves.
    """
    place = f"{folder}/{new or path.name}"
    (out / folder).mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, out / place)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    described = {"path": place, "bytes": path.stat().st_size, "sha256": digest}
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            described["unpacked"] = hashlib.file_digest(file, "sha256").hexdigest()
    return described


def _pictures(out: Path) -> str:
    """Writes the photographs, their thumbnails and their stored maps; returns a button for each, as HTML."""
    from PIL import Image, ImageOps

    (out / "photographs").mkdir()
    (out / "maps").mkdir()
    found, maps = photographs(), precompute()
    buttons = []
    for name in dict.fromkeys((*FIRST, *found)):
        photograph = found[name]
        shutil.copyfile(photograph.path, out / "photographs" / f"{name}.jpg")
        small = ImageOps.fit(photograph.open(), (THUMBNAIL, THUMBNAIL), Image.Resampling.BICUBIC)
        small.save(out / "photographs" / f"{name}-small.jpg", quality=80)
        (out / "maps" / f"{name}.bin").write_bytes(maps[name])
        buttons.append(_button(photograph, maps[name]))
    return "\n".join(buttons)


def _button(photograph: Photograph, maps: bytes) -> str:
    credit = f"{photograph.title}. Photograph: {photograph.author}, {photograph.licence}."
    place = f"photographs/{photograph.name}.jpg"
    values = {"name": photograph.name, "photograph": place, "title": photograph.title, "credit": credit}
    # The checksum in the address keeps a browser from using an older file from its cache.
    values["maps"] = f"maps/{photograph.name}.bin?{hashlib.sha256(maps).hexdigest()[:8]}"
    data = " ".join(f'data-{key}="{html.escape(value)}"' for key, value in values.items())
    label = html.escape(photograph.title)
    small = f"photographs/{photograph.name}-small.jpg"
    return (
        f'<button type="button" aria-pressed="false" {data} title="{html.escape(credit)}">'
        f'<img src="{small}" alt="{label}" width="80" height="80"></button>'
    )


def _page(page: dict, pictures: str, home: str | None) -> str:
    template = string.Template((HERE / "page.html").read_text(encoding="utf-8"))
    return template.substitute(
        pictures=pictures,
        icon=pages.ICON,
        first=f"photographs/{FIRST[0]}.jpg",
        # Without "<", as the JSON may not end the script element that holds it.
        page=json.dumps(page).replace("<", "\\u003c"),
        sizes="\n".join(map(_option, page["models"]["vit-s14"]["sizes"])),
        home=f'<a href="{html.escape(home)}">The course</a>' if home else "",
    )


def _option(size: int) -> str:
    side = size // PATCH
    return f'<option value="{size}">{side} × {side} patches{SLOWER.get(size, "")}</option>'
