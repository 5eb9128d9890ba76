"""Writes the HTML pages of the kit: the install guide for learners, and the index for the teacher."""

import re
import string
from pathlib import Path

from markdown_it import MarkdownIt

from vit_course._support.files.atomic import write_atomically
from vit_course._support.files.course_files import stored
from vit_course.teaching.kit.markdown import typst
from vit_course.teaching.kit.pdf import page, write_pdf

UNKNOWN = "ADDRESS"
IN_PROSE = "the address that your teacher gave you"
# Characters that would end the quotation marks around the address, or are special, in one of the shells.
NOT_IN_AN_ADDRESS = re.compile(r"[\s\"'`$%!&|<>^{}\\]")


def write_install(folder: Path, address: str | None = None) -> None:
    """Writes the page of the install, to be opened (install.html) and to be printed (install.pdf).

    Args:
        folder: the output folder.
        address: the address of the course for pip, as in `vit-course @ ADDRESS`; None where it is not known.

    Raises:
        ValueError: the address has characters that are special in a shell.
    """
    text = install(address)
    write_html(folder / "install.html", text, contents=True)
    write_pdf(folder / "install.pdf", page(typst(text), "Install the course", "For learners"))


def install(address: str | None = None) -> str:
    """The page of the install as Markdown, with the address where it belongs.

    Raises:
        ValueError: as `write_install`.
    """
    if address is not None and (not address or NOT_IN_AN_ADDRESS.search(address)):
        raise ValueError(
            f"--from needs an address without blanks and quotation marks, such as git+https://... or https://....whl, "
            f"got {address!r}"
        )
    text = stored("kit/install.md").read_text(encoding="utf-8")
    if address is not None:
        text = text.replace(" `ADDRESS` stands for {{address in prose}}.", "")
    return text.replace("{{address in prose}}", IN_PROSE).replace("{{address}}", address or UNKNOWN)


def write_html(path: Path, text: str, contents: bool = False) -> None:
    """Writes Markdown, whose first line is the title, as a self-contained HTML page.

    With `contents`, links to the sections are put above the first section.
    """
    body = MarkdownIt("commonmark").enable("table").render(text)
    sections = re.findall(r"<h2>(.+?)</h2>", body)
    for section in sections:
        body = body.replace(f"<h2>{section}</h2>", f'<h2 id="{_anchor(section)}">{section}</h2>')
    if contents:
        links = "\n".join(f'<a href="#{_anchor(section)}">{section}</a>' for section in sections)
        first = body.index("<h2")
        body = f'{body[:first]}<nav aria-label="Sections">\n{links}\n</nav>\n{body[first:]}'
    body = body.replace("<table>", '<div class="wide"><table>').replace("</table>", "</table></div>")
    # A code block with long lines scrolls, so it must be reachable by keyboard.
    body = body.replace("<pre>", '<pre tabindex="0">')
    title = text.partition("\n")[0].removeprefix("# ")
    template = string.Template(stored("kit/page.html").read_text(encoding="utf-8"))
    write_atomically(path, template.substitute(title=title, body=body).encode())


def _anchor(section: str) -> str:
    return re.sub(r"[^\w]+", "-", section.lower()).strip("-")
