"""Builds the site with Sphinx; neither the build nor the reader needs a network."""

import io
import re
import shutil
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from vit_course._support.files.course_files import stored
from vit_course._support.files.output_folder import need_output_folder, write_output_folder
from vit_course._support.inputs.extras import extra

HERE = Path(__file__).parent
PACKAGES = ("sphinx", "myst_nb", "sphinx_book_theme", "sphinx_copybutton", "sphinx-mathjax-offline", "markdown_it")
MARKER = "site.json"
PARTS = ("sources", "static", "html", "trees", "lean")  # subfolders of the temporary build folder
# Of no use to a reader: the theme's icons as scripts and fonts, its words in other languages.
UNUSED = (
    ".buildinfo*", "_sources", "*.map", "*macros.html", "fontawesome*", "vendor", "locales",
    "copybutton_funcs.js", "file.png", "plus.png", "minus.png",
)  # fmt: skip
MATHJAX_FONTS = "output/chtml/fonts/woff-v2"
THEME = "_static/styles/pydata-sphinx-theme.css"
LOGO = re.compile(r'(<a class="navbar-brand logo" href="(?:\.\./)*)(?:course\.html|#)(?=")')
DATA = re.compile(r'<script type="application/octet-stream" class="vit-[a-z_]+-data">[^<]*</script>')
ICON_RULES = re.compile(r"@font-face\{[^}]*fontawesome[^}]*\}|(?<=\})\.fa-[^{}]*\{--fa:[^{}]*\}")


def build(repository: Path, out: Path, overwrite: bool = False) -> int:
    """Builds the site of all chapters into a folder.

    Args:
        repository: a checkout of the course.
        out: the folder.
        overwrite: replace a site that already exists.

    Returns:
        the number of pages.

    Raises:
        ValueError: as `write_output_folder`, or Sphinx warns of anything.
        OSError: as `write_atomically`.
        MissingPackage: a package of the extra "site" is not installed.
    """
    need_output_folder(out, MARKER, overwrite)
    with extra("site", "the site"):
        for package in PACKAGES:
            import_module(package)
    from sphinx.application import Sphinx

    from vit_course._support.widgets import scripts
    from vit_course.explorables import gallery
    from vit_course.explorables.story import story
    from vit_course.explorer.live_page import make_live
    from vit_course.teaching.site.landing import first_page
    from vit_course.teaching.site.sphinx_sources import write_sources

    with tempfile.TemporaryDirectory() as name:
        sources, static, html, trees, lean = (Path(name, part) for part in PARTS)
        sources.mkdir()
        write_sources(repository, sources)
        shutil.copytree(HERE / "static", static)
        copy_mathjax(static / "mathjax")
        (static / "explorer.css").write_text(scripts.style("explorer", *gallery.ABOUT), encoding="utf-8")
        warnings = io.StringIO()
        # There is no conf.py: the whole configuration is in `settings`.
        conf = settings(sources, static)
        app = Sphinx(sources, None, html, trees, "html", conf, None, warnings, warningiserror=True)
        app.build()
        if app.statuscode:
            raise ValueError(f"Sphinx found something to fix: {' | '.join(warnings.getvalue().splitlines())}")
        finish(html)
        shutil.copytree(html, lean, ignore=shutil.ignore_patterns(*UNUSED))
        make_live(lean / "live", home="../index.html")
        (lean / "index.html").write_bytes(first_page((repository / "README.md").read_text(encoding="utf-8")))
        story().save_html(lean / "story.html")
        shutil.copy(scripts.PACKAGE / "explorables" / "static" / "story_worker.js", lean / "live")
        return sum(path.suffix == ".html" for path in write_output_folder(out, lean, MARKER, overwrite))


def copy_mathjax(folder: Path) -> None:
    """Copies MathJax into a folder: its script for TeX, the fonts that it loads, and the licence of both."""
    mathjax = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
    shutil.copytree(mathjax / MATHJAX_FONTS, folder / MATHJAX_FONTS)
    shutil.copy(mathjax / "tex-chtml.js", folder)
    shutil.copy(stored("vit-s14/LICENSE-APACHE.txt"), folder)


def finish(html: Path) -> None:
    """Fixes the theme's output: names an unnamed button, lets the logo lead to the first page, and removes the CSS of
    icons that are not shipped. The data of figures come last, so that a slow line brings text and pictures first."""
    for page in html.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        # The theme gives no accessible name to the button that unfolds the pages of a section.
        text = text.replace("<summary><span", '<summary aria-label="Pages"><span')
        text = LOGO.sub(r"\1index.html", text)
        data = "".join(DATA.findall(text))
        before, end, after = DATA.sub("", text).rpartition("</body>")
        page.write_text(before + data + end + after, encoding="utf-8")
    theme = html / THEME
    theme.write_text(ICON_RULES.sub("", theme.read_text(encoding="utf-8")), encoding="utf-8")


def settings(sources: Path, static: Path) -> dict:
    """The Sphinx configuration, as in a conf.py.

    Args:
        sources: the folder of the pages.
        static: the folder of style sheets, scripts and fonts.
    """
    return {
        "project": "The Vision Transformer, step by step",
        "extensions": [
            "myst_nb",
            "sphinx_copybutton",
            "sphinx.ext.autodoc",
            "sphinx.ext.napoleon",
            "sphinx.ext.viewcode",
            "sphinx.ext.mathjax",
        ],
        "root_doc": "course",  # the first page is no page of Sphinx's
        "html_title": "The Vision Transformer, step by step",
        "html_theme": "sphinx_book_theme",
        "html_theme_options": {
            "use_download_button": False,  # it would offer the file as changed by this build
            "use_fullscreen_button": False,
            "show_toc_level": 2,
            "footer_content_items": [],
            "navbar_persistent": [],  # the search is in the sidebar
            "search_bar_text": "Search the course",
        },
        # The pages with source code, most of all pages, have no navigation: it took a third of the build time.
        "html_sidebars": {"_modules/**": ["navbar-logo.html", "search-button-field.html"]},
        "html_context": {"default_mode": "auto"},  # light or dark as the reader's system is
        "templates_path": [str(HERE / "templates")],
        "html_static_path": [str(static)],
        "html_extra_path": [str(sources / "extra")],
        "html_css_files": ["site.css", "icons.css", "landing.css", "reference.css", "explorer.css"],
        "html_copy_source": False,
        "html_use_index": False,
        "html_domain_indices": False,
        "html_show_sphinx": False,
        "html_show_copyright": False,
        "mathjax_path": "mathjax/tex-chtml.js",
        "mathjax3_config": {"options": {"enableMenu": False}},  # most of its entries need files that are not copied
        # Copy buttons on code, not on its output.
        "copybutton_selector": "div.highlight:not(.cell_output div.highlight) > pre",
        "exclude_patterns": ["extra"],
        "myst_enable_extensions": ["dollarmath"],
        "myst_heading_anchors": 3,
        "nb_execution_mode": "off",
        # For the outputs of prediction cells; `sources.fold` sets other labels for cells that only draw.
        "nb_code_prompt_show": "Make your guess first, then show the result",
        "nb_code_prompt_hide": "Hide the result",
        # The reference.
        "autodoc_inherit_docstrings": False,  # PyTorch's docstrings say nothing about our classes
        "autodoc_member_order": "bysource",
        "autodoc_typehints_format": "short",
        "python_use_unqualified_type_names": True,
        "add_module_names": False,
        "toc_object_entries_show_parents": "hide",
        "default_role": "py:obj",  # names in backquotes are links where the reference has them
        "napoleon_numpy_docstring": False,
        # Code that Pygments cannot fully parse is shown without a warning.
        "suppress_warnings": ["misc.highlighting_failure"],
    }
