"""The reference: a page for each part of the package, made by Sphinx's autodoc from the docstrings."""

import importlib
import inspect
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

HEAD = "reference"


@dataclass(frozen=True)
class Part:
    """A page of the reference.

    Args:
        page: the name of its file.
        title: its heading.
        words: what the part is for.
        modules: where its public names are to be imported from.
    """

    page: str
    title: str
    words: str
    modules: list[str]


_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PARTS = [Part(**row) for row in _TABLES["pages"]]
VALUES: dict[str, str] = _TABLES["values"]
CHAPTER = "checks."


def public(module: ModuleType) -> dict[str, object]:
    """The names that a module is for: those of its `__all__`, or else the classes and functions that it defines."""
    if hasattr(module, "__all__"):
        return {name: getattr(module, name) for name in module.__all__}
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__module__ == module.__name__
    }


def entries(part: Part) -> Iterator[tuple[str, ModuleType, dict[str, object]]]:
    """-> the path, the module and the names of each section of a page, each name once."""
    for path in part.modules:
        module = importlib.import_module(f"vit_course.{path}")
        names = public(module)
        chapters = {name: value for name, value in names.items() if isinstance(value, ModuleType)}
        if path == "checks.report":
            names = {"Report": names["Report"]}
        elif path == "checks.exercise":
            names = {"Exercise": names["Exercise"]}
        yield path, module, {name: value for name, value in names.items() if name not in chapters}
        for name, value in chapters.items() if path == "checks" else ():
            yield f"{path}.{name}", value, public(value)


def write_reference(repository: Path) -> dict[str, str]:
    """-> the Markdown of the pages by their names, the overview first.

    Args:
        repository: where the code is, to which the pages lead where it is there.
    """
    pages, rows = {}, []
    for part in PARTS:
        sections = []
        for path, module, names in entries(part):
            summary = (module.__doc__ or "").split("\n\n")[0].replace("\n", " ")
            sections.append(f"## vit_course.{path}\n\n{summary}{_source(repository, path)}")
            sections += [_entry(path, name, value) for name, value in names.items()]
        pages[f"{HEAD}/{part.page}.md"] = "\n\n".join([f"# {part.title}", part.words, *sections]) + "\n"
        listed = ", ".join(_link(path, name) for path, _, names in entries(part) for name in names)
        rows.append(f"**[{part.title}]({part.page}.md).** {part.words} {listed}")
    listed = "\n".join(part.page for part in PARTS)
    words = (
        "# Reference\n\nEvery public name of the package, from its docstring: first the shapes that go in and come "
        "out, then the arguments and the errors. B is the batch, C the channels, H x W the image, P the side of a "
        "patch, N the number of patches, T that of tokens, D their width, h the heads, d their width, L the layers."
    )
    index = "\n\n".join([words, *rows, f"```{{toctree}}\n:hidden:\n\n{listed}\n```"])
    return {f"{HEAD}/index.md": f"{index}\n", **pages}


def _source(repository: Path, path: str) -> str:
    file = repository.joinpath("vit_course", *path.split("."))
    place = file if file.is_dir() else file.with_suffix(".py")
    return f" [Source](../{place.relative_to(repository).as_posix()})" if place.exists() else ""


def _link(path: str, name: str) -> str:
    shown = f"{path.removeprefix(CHAPTER)}.{name}" if path.startswith(CHAPTER) else name
    return f"{{py:obj}}`{shown} <vit_course.{path}.{name}>`"


def links() -> dict[str, str]:
    """-> the place of each public name by the name itself, without the checks and without words of every day."""
    sections = [(path, names) for part in PARTS[:-1] for path, _, names in entries(part)]
    found = {name: f"vit_course.{path}.{name}" for path, names in sections for name in names}
    return {name: place for name, place in found.items() if "_" in name or not name.islower()}


def _entry(path: str, name: str, value: object) -> str:
    place = f"vit_course.{path}.{name}"
    if f"{path}.{name}" in VALUES:
        shown = f"   :value: {value!r}\n" if isinstance(value, (str, tuple)) else ""
        words = VALUES[f"{path}.{name}"].replace("`", "``")
        text = f".. py:data:: {name}\n   :module: vit_course.{path}\n{shown}\n   {words}"
    elif inspect.isclass(value):
        text = f".. autoclass:: {place}\n   :members:\n{_inherited(place, value)}"
    elif path.startswith(CHAPTER):  # the decorator of the checks gives them another signature than they show
        text = f".. autofunction:: {place}(answer, *, seed=0) -> Report"
    else:
        text = f".. autofunction:: {place}"
    return f"### {name}\n\n```{{eval-rst}}\n{text}\n```"


def _inherited(place: str, value: type) -> str:
    # What a class has from a base of ours that has no entry of its own.
    bases = [base for base in value.__mro__[1:] if base.__module__.startswith("vit_course._support")]
    names = [name for base in bases for name, method in vars(base).items() if name[0] != "_" and method.__doc__]
    return "".join(f"\n   .. automethod:: {place}.{name}" for name in names if name not in vars(value))
