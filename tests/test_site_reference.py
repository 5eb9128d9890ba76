"""The reference among the pages of the site: every public name, with its docstring."""

import html
import importlib
import inspect
import pkgutil
import re
from types import ModuleType

import pytest
from conftest import ROOT

import vit_course
from vit_course.site.reference import MODEL, VALUES

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
    for name in MODEL:
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
        assert place in described, f"{place} is on no page: it belongs into vit_course/site/reference.py"
        doc = VALUES[place] if place in VALUES else inspect.getdoc(value)
        assert doc, f"{place} has no docstring"
        first = words(doc.split("\n\n")[0])
        assert first in described[place][1], f"{place} without {first!r}"


def test_arguments_errors_and_methods_are_there(described):
    page, text = described["maps.record_attention"]
    assert page == "maps.html" and "Parameters:" in text and "Raises:" in text and "Yields:" in text
    assert "model: Module" in text
    assert described["vit.ViT.features"][1].startswith("features") and "vit.ViT.forward" not in described
    assert "queries_and_keys" in described["maps.RecordedMaps.queries_and_keys"][1]
    _, text = described["encoder.Encoder"]
    assert "num_layers – L." in text, "a letter, and no list"


def test_nothing_of_this_machine_is_there(site):
    for page in (site / "reference").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert str(ROOT) not in text and "object at 0x" not in text, page.name
        assert "system-message" not in text and "problematic" not in text, page.name
