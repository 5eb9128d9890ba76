"""The sheets of the paper exercises, and their keys apart."""

import re
from pathlib import Path

from markdown_it.token import Token

from vit_course.teaching.kit.chapters import Picture
from vit_course.teaching.kit.exercises import PaperExercise
from vit_course.teaching.kit.markdown import convert, parse, quoted, typst, words
from vit_course.teaching.kit.pdf import page, write_pdf


def write_sheets(folder: Path, exercises: list[PaperExercise]) -> None:
    """Writes a sheet for each exercise into a folder, and one file with all of them."""
    for exercise in exercises:
        title = f"{exercise.number} {exercise.title}"
        document = page(sheet(exercise), title, _foot(exercise), named=True)
        write_pdf(folder / f"{exercise.file}.pdf", document, pictures(exercise))
    _write_all(folder / "all-sheets.pdf", "All sheets", [sheet(one) for one in exercises], exercises)


def write_keys(folder: Path, exercises: list[PaperExercise]) -> None:
    """Writes the key of each exercise into a folder that is not the sheets', and one file with all of them."""
    for exercise in exercises:
        document = page(key(exercise), f"Key to {exercise.number} {exercise.title}", "For the teacher")
        write_pdf(folder / f"{exercise.file}-key.pdf", document, pictures(exercise))
    _write_all(folder / "all-keys.pdf", "All keys", [key(one) for one in exercises], exercises, "For the teacher")


def sheet(exercise: PaperExercise) -> str:
    """What is asked, with lines and room to write, in Typst."""
    parts = [_heading(exercise), _asked(exercise)]
    if exercise.aid:
        caption = f"A drawing of chapter {exercise.chapter.number}, to work with"
        parts.append(f"#figure({_image(exercise.aid, exercise.aid_width)}, caption: [{caption}])")
    return "\n".join([*parts, "#room"])


def key(exercise: PaperExercise) -> str:
    """The answers with their reasons, the solution as code, and the hints to give, in Typst."""
    reasons = any(answer.reason for answer in exercise.answers)
    cells = ["[name], [answer]" + ", [because]" * reasons]
    for one in exercise.answers:
        cells.append(f"[#raw({quoted(one.name)})], [{words(one.value)}]" + f", [{words(one.reason)}]" * reasons)
    widths = "(auto, auto, 1fr)" if reasons else "(auto, 1fr)"
    code = f"#heading(level: 2)[Worked out]\n#raw(block: true, {quoted(exercise.code)})"
    hints = [f"[{typst(hint)}]" for hint in exercise.hints]
    return "\n".join(
        [
            _heading(exercise, "Key to "),
            f"#course-table({2 + reasons}, widths: {widths}, {', '.join(cells)})",
            typst(exercise.explanation),
            code if exercise.reckoned else "",
            "#heading(level: 2)[Hints, to give one at a time]",
            f"#enum(tight: false, {', '.join(hints)})",
        ]
    )


def pictures(exercise: PaperExercise) -> tuple[Picture, ...]:
    """The pictures that a sheet shows."""
    return tuple(one for one in (exercise.picture, exercise.aid) if one)


def _heading(exercise: PaperExercise, before: str = "") -> str:
    effort = f"{exercise.chapter.title} · difficulty {exercise.difficulty} of 3 · {exercise.minutes} minutes"
    title = f"{before}{exercise.number}  {exercise.title}"
    return f"#heading(level: 1)[{words(title)}]\n#effort[Chapter {words(effort)}]"


def _foot(exercise: PaperExercise) -> str:
    return f"Check your answers in {exercise.chapter.path.name}, under Exercise {exercise.number}."


def _asked(exercise: PaperExercise) -> str:
    """The text, each of its items with the lines for its answers; lines for the other answers follow."""
    left, parts = list(exercise.names), []
    for block in _blocks(parse(exercise.text)):
        if block[0].type == "bullet_list_open":
            for item in _items(block):
                names = [name for name in _named(item) if name in left]
                left = [name for name in left if name not in names]
                parts.append(f"#item({{[{convert(item)}]}}, {{{_lines(exercise, names, len(names) > 1)}}})")
            continue
        text = convert(block)
        if exercise.picture and "".join(t.content for t in block).startswith("*"):
            text = f"#figure({_image(exercise.picture)}, kind: image, caption: none)\n{text}"
        parts.append(text)
    return "\n".join([*parts, f"#{{{_lines(exercise, left)}}}"])


def _lines(exercise: PaperExercise, names: list[str], shown: bool = True) -> str:
    """Lines to write on, with the names in front where nothing else says which is which."""
    word = "" if shown else "answer"
    lines = [(name if shown else "", exercise.choices.get(name, word)) for name in names]
    return "; ".join(f"answer({quoted(name)}, {quoted(choice)})" for name, choice in lines)


def _blocks(tokens: list[Token]) -> list[list[Token]]:
    """The tokens, cut into the blocks that stand below each other."""
    blocks, depth = [], 0
    for token in tokens:
        if depth == 0:
            blocks.append([])
        blocks[-1].append(token)
        depth += token.nesting
    return blocks


def _items(block: list[Token]) -> list[list[Token]]:
    """What stands inside each item of a list."""
    return [one[1:-1] for one in _blocks(block[1:-1])]


def _named(item: list[Token]) -> list[str]:
    """The names before the colon of an item: `one` and `two`: what they are."""
    text = "".join(token.content for token in item if token.type == "inline")
    return [name.strip('"') for name in re.findall("`([^`]+)`", text.partition(":")[0])]


def _image(picture: Picture, width: int = 100) -> str:
    return f"image({quoted(picture.name)}, width: {width}%, alt: {quoted(picture.alternative)})"


def _write_all(path: Path, title: str, bodies: list[str], exercises: list[PaperExercise], kicker: str = "") -> None:
    shown = tuple({one.name: one for exercise in exercises for one in pictures(exercise)}.values())
    write_pdf(path, page("\n#pagebreak()\n".join(bodies), title, kicker, named=not kicker), shown)
