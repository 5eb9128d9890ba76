"""From the repository's notebooks and Markdown to the folder of sources that Sphinx reads."""

import json
import os
import re
import shutil
from pathlib import Path

from vit_course._support.files.stored import PACKAGE, is_checkout
from vit_course.explorables.gallery import TITLE, every, together
from vit_course.teaching.site.landing import hero, landing, opening_explorer
from vit_course.teaching.site.outputs import show_outputs
from vit_course.teaching.site.reference import write_reference

LINK = re.compile(r"(?<!!)(\[[^\]]*\])\(([^)\s:]+)\)")  # no picture, and no address with a scheme
MODULE = re.compile(r"(?<!\[)`(vit_course(?:\.\w+)+)`")
CODE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
LANGUAGES = {".py": "python", ".toml": "toml", ".json": "json", ".js": "javascript", ".css": "css"}
LANGUAGES |= {name: "text" for name in ("", ".md", ".csv", ".txt", ".sha256")}
LEFT_OUT = ("__pycache__", "course")
# No entry in the table of contents, and no hit in the search: the chapters are what is searched.
SOURCE_HEAD = "---\norphan: true\nnosearch: true\n---\n\n"
WIDE_HEAD = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"
UNLISTED_HEAD = "---\norphan: true\n---\n\n"
FILE_LINE = """<p class="notebook-file"><a href="{name}" download="{name}">Download the notebook</a> ({size}) as it is
shown here, with its results. To run it, <a href="../docs/install.html">install the course</a> and open the file in
JupyterLab. <span class="on-disk">In the folder of these pages it is <code>notebooks/{name}</code>.</span></p>
<script>document.documentElement.classList.toggle("from-disk", location.protocol === "file:");</script>"""


def write_sources(repository: Path, folder: Path) -> None:
    """Writes all pages of the site, in the layout of the repository, so that their links need no change.

    Args:
        repository: a checkout of the course.
        folder: an empty folder.
    """
    pages = {path: path.read_text(encoding="utf-8") for path in sorted((repository / "notebooks").glob("*.ipynb"))}
    chapters = [path.relative_to(repository).as_posix() for path in pages]
    readme = (repository / "README.md").read_text(encoding="utf-8")
    documents = re.findall(r"^\| \[.+?\]\((docs/\w+\.md)\)", readme, re.MULTILINE)
    guide, *house = "res/teachers_guide.md", "CONTRIBUTING.md", "CHANGELOG.md"
    reference = write_reference(repository)
    pages[repository / "play.md"] = f"{WIDE_HEAD}# {TITLE}\n\n```{{raw}} html\n:file: together.html\n```\n"
    listed = "\n".join([*chapters, "play.md", *documents, guide, next(iter(reference)), *house])
    pages[repository / "index.md"] = f"{landing(readme)}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    pages |= {
        repository / name: (repository / name).read_text(encoding="utf-8") for name in (*documents, guide, *house)
    }
    pages |= {repository / name: text for name, text in reference.items()}
    for about in sorted((repository / "res").glob("*/README.md")):  # what the weights and the photographs are
        pages[about] = UNLISTED_HEAD + about.read_text(encoding="utf-8")
    (folder / "together.html").write_text(together(every(), "notebooks/"), encoding="utf-8")
    (folder / "hero.html").write_text(hero(opening_explorer()), encoding="utf-8")
    linked: set[Path] = set()
    extra = folder / "extra" / "notebooks"
    extra.mkdir(parents=True)
    for path, text in pages.items():
        target = folder / path.relative_to(repository)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".ipynb":
            notebook = json.loads(text)
            for cell in notebook["cells"]:
                if cell["cell_type"] == "markdown":
                    cell["source"] = lead_to_pages("".join(cell["source"]), path, repository, linked)
            fold(notebook)
            offer_the_file(notebook, path)
            text = json.dumps(show_outputs(notebook, target.stem, extra / "figures"))
            shutil.copy(path, extra)
        else:
            text = lead_to_pages(text, path, repository, linked)
        target.write_text(text, encoding="utf-8")
    for path in linked:
        write_source_page(path, repository, folder, linked)
    shutil.copytree(repository / "res" / "diagrams", folder / "res" / "diagrams", dirs_exist_ok=True)
    for picture in [*(repository / "res").glob("*.png"), *(repository / "res").glob("*.webp")]:
        shutil.copy(picture, folder / "res")


def fold(notebook: dict) -> None:
    """Hides what the cells of predictions gave, and the code that only paints, until the reader asks for it."""
    for cell in notebook["cells"]:
        about, tags = cell["metadata"], cell["metadata"].get("tags", [])
        if painting := about.get("jupyter", {}).get("source_hidden", False):
            tags = [*tags, "hide-input"]
            about["mystnb"] = {"code_prompt_show": "The code that draws this", "code_prompt_hide": "Hide the code"}
        if "predict" in tags:
            tags = [*tags, "hide-output"]
            if painting:  # two folds, with words in common
                show = "Your guess first. Then: show the {type}"
                about["mystnb"] = {"code_prompt_show": show, "code_prompt_hide": "Hide the {type}"}
        about["tags"] = tags


def offer_the_file(notebook: dict, path: Path) -> None:
    """Puts a link to the notebook's file under its title."""
    size = f"{max(path.stat().st_size / 1e6, 0.1):.1f} MB"
    title, _, rest = notebook["cells"][0]["source"].partition("\n")
    line = FILE_LINE.format(name=path.name, size=size)
    notebook["cells"][0]["source"] = f"{title}\n\n{line}\n\n{rest}"


def lead_to_pages(text: str, page: Path, repository: Path, linked: set[Path]) -> str:
    """The Markdown of a page whose links to files and folders, and names of modules, lead to pages of code.

    `linked` takes the files and folders for which such a page is to be written.
    """

    def to_page(match: re.Match) -> str:
        path = match[2].partition("#")[0]
        target = Path(os.path.normpath(page.parent / path))
        if not path:
            return match[0]
        if target == repository / "README.md":  # on the site, the first page
            return f"{match[1]}({match[2].replace('README.md', 'index.md')})"
        if target == repository / "notebooks":
            return f"{match[1]}({path.rstrip('/').removesuffix('notebooks')}index.md#the-chapters)"
        if target.suffix in (".md", ".ipynb"):
            return match[0]
        if not _place(target, repository).exists() and not is_checkout():  # the tests, which no wheel carries
            return match[1].strip("[]")
        linked.add(target)
        return f"{match[1]}({path.rstrip('/')}{'/index' if _place(target, repository).is_dir() else ''}.md)"

    def to_module(match: re.Match) -> str:
        target = repository.joinpath(*match[1].split(".")).with_suffix(".py")
        if not _place(target, repository).is_file():
            return match[0]
        return f"[`{match[1]}`]({Path(os.path.relpath(target, page.parent)).as_posix()})"

    parts = CODE.split(text)  # every second one is a block of code
    parts[::2] = [LINK.sub(to_page, MODULE.sub(to_module, part)) for part in parts[::2]]
    return "".join(parts)


def write_source_page(path: Path, repository: Path, folder: Path, linked: set[Path]) -> None:
    """Writes the page of one file, its text highlighted, or of a folder, a list of its files; `linked` have a page."""
    name, place = path.relative_to(repository).as_posix(), _place(path, repository)
    if place.is_dir():
        inner = sorted(file.relative_to(place) for file in place.rglob("*") if file.is_file())
        files = [path / file for file in inner if not any(part[0] == "." or part in LEFT_OUT for part in file.parts)]
        places = [(file.relative_to(path).as_posix(), file in linked) for file in files]
        text = "\n".join(f"- [`{place}`]({place}.md)" if page else f"- `{place}`" for place, page in places)
        target = folder / name / "index.md"
    else:
        text = f"~~~~{LANGUAGES[path.suffix]}\n{place.read_text(encoding='utf-8')}\n~~~~"
        target = folder / f"{name}.md"
    title = name.replace("_", r"\_")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"{SOURCE_HEAD}# {title}\n\n{text}\n", encoding="utf-8")


def _place(path: Path, repository: Path) -> Path:
    """Where something of the repository lies: a wheel has the package's own files around the rest."""
    return path if path.exists() else PACKAGE.parent / path.relative_to(repository)
