"""The parts of the site by themselves: outputs, links, the first page, the reference."""

import base64
import html
import importlib
import inspect
import io
import pkgutil
import re
from types import ModuleType

import pytest
from conftest import ROOT
from PIL import Image, ImageChops, ImageStat

import vit_course
from vit_course._support.widgets import pages, scripts
from vit_course.teaching.site.landing import cards
from vit_course.teaching.site.outputs import AGAIN, VIEW, show_outputs, write_figure
from vit_course.teaching.site.sphinx_sources import lead_to_pages

TABLE = """## The chapters

Minutes are those of the main path + exercises + what goes deeper.

| chapter | you will see | minutes |
|---|---|---|
| [00 A & b](notebooks/00_a.ipynb) | one *and* `a < b`; two | 1 + 20 + 300 |
| [11 C](notebooks/11_c.ipynb) | three | 4 + 5 |

Words behind.
"""


def test_links_lead_to_pages_or_to_files_that_come_along():
    linked = set()
    text = "[r](../README.md#x) [n](../notebooks) [p](../vit_course) [a](../res/weights.sha256) [s](../res/vit-s14) "
    text += "[d](../res/experiments) [c](01_patchify.ipynb#x) [h](#x) [e](https://e.f/g.py)\n```\n[b](../res)\n```\n"
    assert lead_to_pages(text, ROOT / "notebooks" / "a.ipynb", ROOT, linked) == (
        "[r](../course.md#x) [n](../course.md#the-chapters) [p](../reference/index.md) [a](../res/weights.sha256) "
        "[s](../res/vit-s14/README.md) d [c](01_patchify.ipynb#x) [h](#x) [e](https://e.f/g.py)\n```\n[b](../res)\n```\n"
    )
    assert linked == {ROOT / "res" / "weights.sha256"}


def test_pictures_explorers_and_views_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "unpack", lambda view: view.get("state"))
    monkeypatch.setattr(pages, "markup", lambda state: f"<div>{state['_data']}</div>")
    monkeypatch.setattr(scripts, "module", lambda name: f"run({name})")
    buffer = io.BytesIO()
    Image.new("RGB", (7, 5), "red").save(buffer, "PNG")
    picture = {
        "output_type": "display_data",
        "data": {"image/png": base64.b64encode(buffer.getvalue()).decode()},
        "metadata": {"image/png": {"alt": 'a "b"'}},
    }
    other = {"output_type": "display_data", "data": {VIEW: {"model_id": "1"}}, "metadata": {}}
    live = {"output_type": "display_data", "data": {VIEW: {"state": {"_name": "rope", "_data": "S"}}}, "metadata": {}}
    again = {"output_type": "display_data", "data": {"text/html": [f"<p>{AGAIN}"]}, "metadata": {}}
    cells = [{"cell_type": "code", "outputs": [picture, *more]} for more in ([again, live], [other], [live, live])]
    cells.append({"cell_type": "markdown", "source": "words"})
    shown = show_outputs({"cells": cells}, "nn", tmp_path / "figures")["cells"]
    html = [[output["data"].get("text/html") for output in cell.get("outputs", [])] for cell in shown]
    img = '<img src="figures/nn-{}-0.webp" alt="a &quot;b&quot;" width="7" height="5" loading="lazy">'
    assert html[0] == [f"<noscript>{img.format(0)}</noscript><div>S</div>"]
    assert html[1] == [img.format(1), None] and shown[1]["outputs"][1] == other
    assert html[2][0] == f"<noscript>{img.format(2)}</noscript><div>S</div>", "one picture, one explorer"
    assert html[2][1] == '<div>S</div><script type="module">run(rope)</script>'
    assert html[3] == []


def test_a_figure_becomes_a_small_file_that_looks_the_same(tmp_path):
    curve, photo = Image.new("RGB", (60, 40), "white"), Image.effect_noise((401, 300), 60).convert("RGB")
    for x in range(60):
        curve.putpixel((x, x // 2), (0, 0, 200))
    for picture, most in ((curve, 0), (photo, 12)):
        buffer = io.BytesIO()
        picture.save(buffer, "PNG")
        assert write_figure(buffer.getvalue(), tmp_path / "a.webp") == picture.size
        difference = ImageStat.Stat(ImageChops.difference(picture, Image.open(tmp_path / "a.webp").convert("RGB")))
        assert max(difference.mean) <= most
    assert (tmp_path / "a.webp").stat().st_size < 0.8 * len(buffer.getvalue()), "what has no flat parts is squeezed"


def test_the_table_becomes_cards():
    text = cards(TABLE)
    assert text.startswith("## The chapters\n\n<ol") and text.rstrip().endswith("Words behind.") and "|" not in text
    assert text.count("<li>") == 2 and 'href="notebooks/00_a.html"' in text
    assert "A &amp; b</strong>" in text and ">One <em>and</em> <code>a &lt; b</code>; two.<" in text
    assert ">21 min" in text and ">9 min" in text, "what goes deeper is not counted"
    with pytest.raises(ValueError, match="the table of the chapters needs rows"):
        cards("## The chapters\n\nnone\n")
    with pytest.raises(ValueError, match="must say what they are"):
        cards(TABLE.replace("Minutes are those", "These are the minutes"))


# Of these a reader uses the commands.
COMMANDS_ALONE = {"classroom", "kit", "learner", "live", "site"}


def promised() -> list[tuple[str, object]]:
    """-> the path and the value of every public name: of each package, of the modules that it gives, of the model."""
    packages = [one.name for one in pkgutil.iter_modules(vit_course.__path__) if one.ispkg]
    modules = {name: importlib.import_module(f"vit_course.{name}") for name in packages}
    found = []
    for name, module in modules.items():
        if name in COMMANDS_ALONE or not hasattr(module, "__all__"):
            continue
        for word in module.__all__:
            value = getattr(module, word)
            inside = inspect.getmembers(value) if isinstance(value, ModuleType) else []
            found += [] if inside else [(f"{name}.{word}", value)]
            names = getattr(value, "__all__", None) if inside else ()
            found += [
                (f"{name}.{word}.{part}", each)
                for part, each in inside
                if (part in names if names is not None else defined(value, part, each))
            ]
    for name in ("config", "patches", "embeddings", "attention", "encoder", "vit"):
        module = importlib.import_module(f"vit_course.{name}")
        found += [(f"{name}.{word}", each) for word, each in vars(module).items() if defined(module, word, each)]
    return found


def defined(module: ModuleType, name: str, value: object) -> bool:
    is_ours = getattr(value, "__module__", None) == module.__name__
    return is_ours and not name.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value))


def words(text: str) -> str:
    """Without the marks of either language, and with plain quotes."""
    for curly, plain in (("“", '"'), ("”", '"'), ("‘", "'"), ("’", "'"), ("…", "...")):
        text = text.replace(curly, plain)
    return " ".join(text.replace("`", "").split())


@pytest.fixture(scope="session")
def described(site) -> dict[str, tuple[str, str]]:
    """-> the page and the words of each name that is described, by its place."""
    found = {}
    for page in sorted((site / "reference").glob("*.html")):
        text = page.read_text(encoding="utf-8")
        starts = [*re.finditer(r'<dt class="sig[^"]*" id="vit_course\.([\w.]+)">', text)]
        ends = [*(match.start() for match in starts[1:]), len(text)][: len(starts)]
        for match, end in zip(starts, ends, strict=True):
            plain = html.unescape(re.sub(r"<[^>]*>", "", text[match.start() : end]))
            assert match[1] not in found, "in one place"
            found[match[1]] = (page.name, words(plain))
    return found


def test_every_public_name_is_there_with_its_docstring(described):
    names = promised()
    assert len(names) > 150 and {"maps.record_attention", "vit.ViT", "maps.interpret.rollout"} <= dict(names).keys()
    for place, value in names:
        assert place in described, f"{place} is on no page: it belongs into vit_course/teaching/site/reference"
        if not inspect.isclass(value) and not inspect.isfunction(value):
            assert len(described[place][1].split()) > 5, f"{place} is a value, and its page says nothing of it"
            continue
        assert inspect.getdoc(value), f"{place} has no docstring"
        first = words(inspect.getdoc(value).split("\n\n")[0])
        assert first in described[place][1], f"{place} without {first!r}"


def test_arguments_errors_and_methods_are_there(described):
    page, text = described["maps.record_attention"]
    assert page == "maps.html" and "Parameters:" in text and "Raises:" in text and "Yields:" in text
    assert "model: Module" in text
    assert described["vit.ViT.features"][1].startswith("features") and "vit.ViT.forward" not in described
    assert "queries_and_keys" in described["maps.RecordedMaps.queries_and_keys"][1]
    _, text = described["encoder.Encoder"]
    assert "num_layers – L" in text, "a letter, and no list"


def test_nothing_of_this_machine_is_there(site):
    for page in (site / "reference").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert str(ROOT) not in text and "object at 0x" not in text, page.name
        assert "system-message" not in text and "problematic" not in text, page.name
