"""Writes PDF files with Typst and its bundled fonts, so that they are the same on every machine."""

import tempfile
from pathlib import Path

from vit_course._support.files.atomic import write_atomically
from vit_course._support.files.course_files import stored
from vit_course.teaching.kit.chapters import Picture
from vit_course.teaching.kit.markdown import quoted

TEMPLATE = "page.typ"


def page(body: str, title: str, kicker: str = "", named: bool = False) -> str:
    """A complete Typst document around the content of its pages.

    Args:
        body: the content, in Typst.
        title: what the document is called.
        kicker: the words at the foot of each page.
        named: whether there is a place for a name and the date on each page with a heading of the first level.
    """
    options = f"title: {quoted(title)}, kicker: {quoted(kicker)}, named: {str(named).lower()}"
    return f'#import "{TEMPLATE}": *\n#show: course-page.with({options})\n{body}'


def write_pdf(path: Path, document: str, pictures: tuple[Picture, ...] = ()) -> None:
    """Typesets a Typst document, which refers to the pictures by their names, and writes the PDF.

    Raises:
        ValueError: the document cannot be typeset; the message says where.
        OSError: as `write_atomically`.
    """
    import typst

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / TEMPLATE).write_bytes(stored(f"kit/{TEMPLATE}").read_bytes())
        (folder / "main.typ").write_text(document, encoding="utf-8")
        for picture in pictures:
            (folder / picture.name).write_bytes(picture.data)
        try:
            # PDF/UA-1 is tagged for screen readers; a picture without alt text is an error.
            data = typst.compile(folder / "main.typ", root=folder, ignore_system_fonts=True, pdf_standards=["ua-1"])
        except typst.TypstError as error:
            raise ValueError(f"{path.name} cannot be typeset: {error}") from error
    write_atomically(path, data)
