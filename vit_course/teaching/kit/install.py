"""The pages in HTML: for learners the install, for the teacher what lies where."""

import re
import string
from pathlib import Path

from markdown_it import MarkdownIt

from vit_course._support.files.atomic import write_atomically
from vit_course._support.files.stored import stored
from vit_course.teaching.kit.markdown import typst
from vit_course.teaching.kit.pdf import page, write_pdf

UNKNOWN = "ADDRESS"
IN_PROSE = "the address that your teacher gave you"
# A character that would end the quotation marks around it in one of the shells, or mean something there.
NOT_IN_AN_ADDRESS = re.compile(r"[\s\"'`$%!&|<>^{}\\]")


def write_install(folder: Path, address: str | None = None) -> None:
    """Writes the page of the install, to be opened (install.html) and to be printed (install.pdf).

    Args:
        folder: where to.
        address: where learners get the course, as pip takes it behind `vit-course @`; None where it is not known.

    Raises:
        ValueError: an address that no shell would hand on as it is.
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
    """Writes Markdown, whose first line is the title, as a page that asks for no other file.

    With `contents`, links to the sections stand under the first paragraph.
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
    # A long line scrolls, so the keyboard must reach it.
    body = body.replace("<pre>", '<pre tabindex="0">')
    title = text.partition("\n")[0].removeprefix("# ")
    template = string.Template(stored("kit/page.html").read_text(encoding="utf-8"))
    write_atomically(path, template.substitute(title=title, body=body).encode())


def _anchor(section: str) -> str:
    return re.sub(r"[^\w]+", "-", section.lower()).strip("-")
