"""Writes the folder of sources for Sphinx, from the repository's notebooks and Markdown files."""

import json
import os
import re
import shutil
from pathlib import Path

from vit_course._support.files.course_files import PACKAGE
from vit_course.explorables.gallery import TITLE, every, together
from vit_course.teaching.site.landing import hero, landing
from vit_course.teaching.site.outputs import show_outputs

HERE = Path(__file__).parent
LINK = re.compile(r"(?<!!)(\[[^\]]*\])\(([^)\s:]+)\)")  # no picture, and no address with a scheme
CODE = re.compile(r"(^```.*?^```)", re.MULTILINE | re.DOTALL)
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
    pages[repository / "play.md"] = f"{WIDE_HEAD}# {TITLE}\n\n```{{raw}} html\n:file: together.html\n```\n"
    listed = "\n".join([*chapters, "play.md", *documents, guide, "reference/index.md", *house])
    pages[repository / "course.md"] = f"{landing(readme)}\n\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    pages |= {
        repository / name: (repository / name).read_text(encoding="utf-8") for name in (*documents, guide, *house)
    }
    for about in sorted((repository / "res").glob("*/README.md")):  # what the weights and the photographs are
        pages[about] = UNLISTED_HEAD + about.read_text(encoding="utf-8")
    (folder / "together.html").write_text(together(every(), "notebooks/"), encoding="utf-8")
    (folder / "hero.html").write_text(hero(), encoding="utf-8")
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
    for path in linked:  # Sphinx makes downloads of them
        target = folder / path.relative_to(repository)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(_place(path, repository), target)
    shutil.copytree(HERE / "reference", folder / "reference")
    shutil.copytree(repository / "res" / "diagrams", folder / "res" / "diagrams", dirs_exist_ok=True)
    for picture in [*(repository / "res").glob("*.png"), *(repository / "res").glob("*.webp")]:
        shutil.copy(picture, folder / "res")


def fold(notebook: dict) -> None:
    """Folds the outputs of prediction cells and the code that only draws, until the reader opens them."""
    for cell in notebook["cells"]:
        about, tags = cell["metadata"], cell["metadata"].get("tags", [])
        if painting := about.get("jupyter", {}).get("source_hidden", False):
            tags = [*tags, "hide-input"]
            about["mystnb"] = {"code_prompt_show": "The code that draws this", "code_prompt_hide": "Hide the code"}
        if "predict" in tags:
            tags = [*tags, "hide-output"]
            if painting:  # both are folded, and share one label
                show = "Make your guess first, then show the {type}"
                about["mystnb"] = {"code_prompt_show": show, "code_prompt_hide": "Hide the {type}"}
        about["tags"] = tags


def offer_the_file(notebook: dict, path: Path) -> None:
    """Puts a link to the notebook's file under its title."""
    size = f"{max(path.stat().st_size / 1e6, 0.1):.1f} MB"
    title, _, rest = notebook["cells"][0]["source"].partition("\n")
    line = FILE_LINE.format(name=path.name, size=size)
    notebook["cells"][0]["source"] = f"{title}\n\n{line}\n\n{rest}"


def lead_to_pages(text: str, page: Path, repository: Path, linked: set[Path]) -> str:
    """A page's Markdown with links to folders turned into links to pages; other linked files are added to `linked`."""

    def to_page(match: re.Match) -> str:
        path = match[2].partition("#")[0]
        if not path:  # a heading of the same page
            return match[0]
        target = Path(os.path.normpath(page.parent / path))
        up = "../" * (len(page.relative_to(repository).parts) - 1)
        if target == repository / "README.md":
            return f"{match[1]}({match[2].replace('README.md', 'course.md')})"
        if target == repository / "notebooks":
            return f"{match[1]}({up}course.md#the-chapters)"
        if target == repository / "vit_course":
            return f"{match[1]}({up}reference/index.md)"
        if target.suffix in (".md", ".ipynb"):
            return match[0]
        if (target / "README.md").is_file():
            return f"{match[1]}({path.rstrip('/')}/README.md)"
        if not _place(target, repository).is_file():  # a folder, or one of the tests, which no wheel carries
            return match[1].strip("[]")
        linked.add(target)
        return match[0]

    parts = CODE.split(text)  # every second one is a block of code
    parts[::2] = [LINK.sub(to_page, part) for part in parts[::2]]
    return "".join(parts)


def _place(path: Path, repository: Path) -> Path:
    """The path of a file of the repository; in an installed wheel, the package's own files lie in another folder."""
    return path if path.exists() else PACKAGE.parent / path.relative_to(repository)
