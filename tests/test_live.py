"""What is shipped for browsers: the scripts, put together by tests/bundle.py, and the files of the live page."""

import gzip
import hashlib
import html
import json
import re
import runpy
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import bundle
import pytest
from conftest import ROOT, hears_interrupts
from lab import PATIENCE

from vit_course import data
from vit_course.__main__ import main
from vit_course.explorer.live_page import is_live, write_live

LIVE = ROOT / "res" / "live"


def test_the_runtime_is_the_published_one():
    script = runpy.run_path(str(LIVE / "runtime.py"))
    for name, expected in script["SUMS"].items():
        packed = LIVE / "runtime" / (f"{name}.gz" if name in script["SQUEEZED"] else name)
        content = packed.read_bytes()
        content = gzip.decompress(content) if name in script["SQUEEZED"] else content
        assert hashlib.sha256(content).hexdigest() == expected, name
        assert packed.stat().st_size < 5e6
    assert b"MIT License" in (LIVE / "runtime" / "LICENSE").read_bytes()
    for name in ("SCRIPT", "CARD_SCRIPT"):
        assert f"v{script['VERSION']}".encode() in (LIVE / "runtime" / script[name]).read_bytes()[:100]


@pytest.fixture(scope="module")
def folder(live_folder, tmp_path_factory):
    """A copy that tests may change, with all that belongs to it."""
    return Path(shutil.copytree(live_folder, tmp_path_factory.mktemp("live") / "page"))


def page_of(folder) -> dict:
    """What the page is told."""
    text = (folder / "index.html").read_text(encoding="utf-8")
    return json.loads(re.search(r'id="live-page">(.*?)</script>', text, re.DOTALL)[1])


@pytest.mark.slow
def test_the_folder_holds_all_that_its_page_names(folder):
    page = page_of(folder)
    files = [file for build in page["runtime"].values() for file in build.values()]
    for model in page["models"].values():
        files += [*model["graphs"].values(), *model["weights"], *([model["floats"]] if "floats" in model else [])]
        assert len(model["mean"]) == len(model["std"]) == 3
    labels = [page["models"][name]["labels"] for name in ("vit-s14", "tiny-cifar")]
    assert len(labels[0]) == 10 and labels[1] is None, "only where a rule says when none fits"
    assert len(files) == 14
    # The graphs name the numbers in the weights' own files; that each finds its own, test_live_browser.py sees.
    graphs = [file for model in page["models"].values() for file in model["graphs"].values()]
    assert sum(file["bytes"] for file in graphs) < 20_000
    shell = [name.replace("./", "index.html") for name in page["shell"]]
    assert not any(name.startswith("runtime/") for name in shell), "a browser keeps the one that it uses"
    assert len({*shell}) == len(shell) and all((folder / name).is_file() for name in shell)
    assert {"index.html", "saved.txt", "live_worker.js", "live.css"} <= {*shell}
    for file in files:
        content = (folder / file["path"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file["bytes"], file["sha256"])
    text = (folder / "index.html").read_text(encoding="utf-8")
    asked = re.findall(r'(?:src|data-photograph)="([^"]+)"|<link[^>]* href="([^"]+)"|href="(?!http)([^"]+)"', text)
    places = {place for places in asked for place in places if place and not place.startswith("data:")}
    assert {"live.js", "live.css", "explorer.css", "photographs/cat.jpg", "runtime/LICENSE"} <= places
    assert [place for place in places if not (folder / place).is_file()] == []
    for name, photograph in data.photographs().items():
        assert f"photographs/{name}.jpg" in places and f"Photograph: {html.escape(photograph.author)}" in text
        maps = (folder / "maps" / f"{name}.bin").read_bytes()
        head, line = json.loads(maps.partition(b"\n")[0]), maps.index(b"\n") + 1
        assert len(maps) == line + head["bytes"] < 3.6e6 and head["front"] < 0.42e6
        assert f"maps/{name}.bin?{hashlib.sha256(maps).hexdigest()[:8]}" in text
    assert not re.search(r"(src|import|fetch|url)\s*[=(]\s*[\"']?(https?:|//)", text), "it asks another address"
    assert "It is not the DINOv2 that Meta published" in text


@pytest.mark.slow
def test_first_comes_the_cat_and_a_link_only_where_there_is_a_place_for_it(folder, tmp_path):
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert re.search(r'data-photograph="([^"]+)"', text)[1] == "photographs/cat.jpg"
    assert "The course</a>" not in text
    bytes_written = write_live(tmp_path, home="../index.html?a=1&b=2")
    assert bytes_written == sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert '<a href="../index.html?a=1&amp;b=2">The course</a>' in (tmp_path / "index.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_command_says_how_to_open_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["live"]) == 0
    said = r"^live: \d+ MB; .*python -m http\.server -d live .*http://localhost:8000$"
    assert re.search(said, capsys.readouterr().out) and (tmp_path / "live" / "index.html").is_file()


@pytest.mark.slow
def test_it_is_served_with_the_headers_for_threads_until_it_is_interrupted(folder):
    before = (folder / "index.html").stat().st_mtime_ns
    command = [sys.executable, "-m", "vit_course", "live", str(folder), "--serve", "--port", "0", "--no-browser"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, preexec_fn=hears_interrupts, **pipes) as served:
        try:
            address = re.search(r"is served at (http://localhost:\d+) until", served.stdout.readline())[1]
            with urllib.request.urlopen(f"{address}/live_worker.js", timeout=30) as answer:
                assert answer.read() == (folder / "live_worker.js").read_bytes()
                found = [answer.headers[f"Cross-Origin-{name}-Policy"] for name in ("Opener", "Embedder")]
                assert found == ["same-origin", "require-corp"] and answer.headers["Content-Type"] == "text/javascript"
            port = address.rpartition(":")[2]
            assert main(["live", str(folder), "--serve", "--port", port, "--no-browser"]) == 2
            served.send_signal(signal.SIGINT)
            assert served.wait(PATIENCE) == 130
        finally:
            served.kill()
    assert (folder / "index.html").stat().st_mtime_ns == before, "what is there is served as it is"


def test_a_marker_alone_makes_no_live_page(tmp_path):
    pages = {"files": ["index.html", "live.js"]}
    for content in ({}, {"files": []}, pages, {"program": "vit_course", **pages}):
        (tmp_path / "live.json").write_text(json.dumps(content))
        assert not is_live(tmp_path), content
    (tmp_path / "index.html").write_text("<h1>Page</h1>")
    assert is_live(tmp_path)


@pytest.mark.slow
def test_nothing_is_overwritten_unasked(folder, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["live", str(tmp_path), "--force"]) == 2
    assert (
        "holds other files and no live.json of an earlier run: mine.txt; name another folder" in capsys.readouterr().err
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (folder / "old").mkdir(exist_ok=True)
    assert main(["live", str(folder)]) == 2
    assert "was written by an earlier run: add --force to replace it" in capsys.readouterr().err
    assert main(["live", str(folder), "--force"]) == 0
    assert (folder / "old").exists() and (folder / "index.html").is_file()


@pytest.mark.slow
def test_a_half_written_folder_can_be_replaced(tmp_path, monkeypatch):
    def broken(*_):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr("vit_course._support.files.output_folder.write_atomically", broken)
        with pytest.raises(OSError, match="the disk is full"):
            write_live(tmp_path)
    assert not (tmp_path / "index.html").exists()
    write_live(tmp_path, overwrite=True)
    assert (tmp_path / "index.html").exists()


@pytest.mark.slow
def test_another_file_gives_another_version(folder, tmp_path, monkeypatch):  # by which a browser forgets the old one
    version = page_of(folder)["version"]
    copied = tmp_path / "live"
    shutil.copytree(LIVE, copied)
    (copied / "tiny-cifar-head.onnx").write_bytes((LIVE / "tiny-cifar-head.onnx").read_bytes() + b"\0")
    monkeypatch.setattr("vit_course.explorer.live_page.folder.stored", lambda name: copied)
    write_live(tmp_path / "page")
    assert page_of(tmp_path / "page")["version"] != version


@pytest.mark.parametrize("name", bundle.entries())
def test_no_bundle_is_older_than_its_sources_or_edited_by_hand(name):
    assert not bundle.stale(name), f"{name}.js is stale: python tests/bundle.py"


def test_every_bundle_has_an_entry_and_asks_for_nothing():
    assert {*bundle.PACKAGE.glob("*/static/*.js")} == set(map(bundle.made, bundle.entries()))
    for name in bundle.entries():
        source = bundle.made(name).read_text(encoding="utf-8")
        assert "import " not in source.partition("\n")[2][:200], name


PAGE = "explorer/widget"


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A small source and a bundle of it."""
    monkeypatch.setattr(bundle, "PACKAGE", tmp_path)
    for folder in ("explorer/js", "explorer/static", "_support/widgets/js"):
        (tmp_path / folder).mkdir(parents=True)
    bundle.source(PAGE).write_text('import { a } from "../../_support/widgets/js/a.js";\nconsole.log(a);\n')
    (tmp_path / "_support" / "widgets" / "js" / "a.js").write_text("export const a = 1;\n")
    body = b"const a = 1;\nconsole.log(a);\n"
    bundle.made(PAGE).write_bytes(bundle.head(PAGE, body) + body)
    return tmp_path


def test_a_change_anywhere_makes_it_stale(copied):
    assert not bundle.stale(PAGE) and {path.name for path in bundle.modules(PAGE)} == {"a.js", "widget.js"}
    for path, change in (
        (copied / "_support" / "widgets" / "js" / "a.js", "export const a = 2;\n"),
        (bundle.source(PAGE), "// more\n"),
        (bundle.made(PAGE), "// mine\n"),
    ):
        before = path.read_text()
        path.write_text(change if path.name == "a.js" else before + change)
        assert bundle.stale(PAGE), path
        path.write_text(before)
        assert not bundle.stale(PAGE)
    bundle.made(PAGE).unlink()
    assert bundle.stale(PAGE)


def test_style_sheets_close_every_rule():
    # They are joined: a rule that is left open would swallow those of the next.
    sheets = [*bundle.PACKAGE.rglob("js/*.css"), *bundle.PACKAGE.glob("teaching/site/static/*.css")]
    assert [path.name for path in sheets if (text := path.read_text()).count("{") != text.count("}")] == []
