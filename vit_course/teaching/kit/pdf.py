"""PDF files, set by Typst with the fonts that it brings along: the same on every machine."""

import tempfile
from pathlib import Path

from vit_course._support.files.atomic import write_atomically
from vit_course._support.files.stored import stored
from vit_course.teaching.kit.chapters import Picture
from vit_course.teaching.kit.markdown import quoted

TEMPLATE = "page.typ"


def page(body: str, title: str, kicker: str = "", named: bool = False) -> str:
    """A whole document, in Typst, around what is on its pages.

    Args:
        body: in Typst.
        title: what the document is called.
        kicker: the words at the foot of each page.
        named: whether there is a place for a name and the date on each page with a heading of the first level.
    """
    options = f"title: {quoted(title)}, kicker: {quoted(kicker)}, named: {str(named).lower()}"
    return f'#import "{TEMPLATE}": *\n#show: course-page.with({options})\n{body}'


def write_pdf(path: Path, document: str, pictures: tuple[Picture, ...] = ()) -> None:
    """Sets a document in Typst, which shows some pictures by their names, and writes the PDF.

    Raises:
        ValueError: what cannot be set; the sentence says where.
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
            # Tagged for screen readers; a picture without words for it is refused.
            data = typst.compile(folder / "main.typ", root=folder, ignore_system_fonts=True, pdf_standards=["ua-1"])
        except typst.TypstError as error:
            raise ValueError(f"{path.name} cannot be typeset: {error}") from error
    write_atomically(path, data)
