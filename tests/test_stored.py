"""The course's own files by name, from a checkout and from a wheel."""

import json
import re
import tomllib

import pytest
from conftest import ROOT

from vit_course.files import stored as module
from vit_course.files.stored import stored

READ = {
    name
    for path in (ROOT / "notebooks").glob("*.ipynb")
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
    if cell["cell_type"] == "code"
    for name in re.findall(r"""stored\(\s*["']([^"']+)["']""", "".join(cell["source"]))
}


def test_a_file_of_the_checkout():
    assert stored("convnet/table.csv") == ROOT / "res" / "convnet" / "table.csv"
    assert stored("diagrams").is_dir()


@pytest.mark.parametrize("name", ["convnet/no.csv", ""])
def test_no_such_file_is_named(name, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "FOLDERS", (tmp_path / "empty",))
    with pytest.raises(ValueError, match=f"the course has no file '{name}'"):
        stored(name)


def test_what_is_no_name_is_refused():
    with pytest.raises(ValueError, match="name must be text, got 3"):
        stored(3)


@pytest.mark.parametrize("name", sorted(READ))
def test_a_wheel_carries_what_the_chapters_read(name):
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    places = {source: place for source, place in included["force-include"].items() if f"res/{name}".startswith(source)}
    (source,) = places
    inside = f"{places[source]}{f'res/{name}'.removeprefix(source)}"
    assert inside in (f"vit_course/course/res/{name}", f"vit_course/runs/{name}"), inside
