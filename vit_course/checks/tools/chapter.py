"""Gets what a chapter's cells define, for checks that repeat an experiment with the code that the learner has run."""

import ast
import functools
import json
import symtable
from collections.abc import Iterator

from vit_course._support.files.course_files import course

_DEFINING = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign)


@functools.cache
def of_chapter(notebook: str, *names: str) -> tuple:
    """The functions, classes or values of these names, as the notebook's cells define them.

    Only what they need is run: imports, definitions and assignments at the outermost level, in the order of the cells.

    Args:
        notebook: such as "04_attention".
        names: of what is wanted; the last definition of each counts.

    Raises:
        LookupError: a name that no cell defines.
    """
    statements = list(_statements(notebook))
    made = [_assigned(one) for one in statements]
    asked = [_place(made, name, len(made)) for name in names]
    if None in asked:
        raise LookupError(f"no cell of {notebook} defines {names[asked.index(None)]}")
    needed = set()
    while asked:
        place = asked.pop()
        if place is not None and place not in needed:  # otherwise a builtin, or already included
            needed.add(place)
            asked += [_place(made, name, place) for name in _used(statements[place])]
    space: dict = {}
    body = [statements[place] for place in sorted(needed)]
    exec(compile(ast.Module(body, []), f"<{notebook}>", "exec"), space)
    return tuple(space[name] for name in names)


def _statements(notebook: str) -> Iterator[ast.stmt]:
    path = course() / "notebooks" / f"{notebook}.ipynb"
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            # Without what only a notebook understands, such as %matplotlib.
            lines = (line for line in cell["source"] if not line.startswith("%"))
            yield from (one for one in ast.parse("".join(lines)).body if isinstance(one, _DEFINING))


def _place(made: list[set[str]], name: str, before: int) -> int | None:
    # The index of the last statement before a place that defines the name, or else of the first after it.
    places = [place for place, names in enumerate(made) if name in names]
    return max((place for place in places if place < before), default=min(places, default=None))


def _symbols(statement: ast.stmt) -> symtable.SymbolTable:
    return symtable.symtable(ast.unparse(statement), "cell", "exec")


def _assigned(statement: ast.stmt) -> set[str]:
    return {one.get_name() for one in _symbols(statement).get_symbols() if one.is_assigned() or one.is_imported()}


def _used(statement: ast.stmt) -> set[str]:
    # The outer names that a statement uses, also in functions inside it.
    used, tables = set(), [_symbols(statement)]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        outermost = table.get_type() == "module"
        symbols = (one for one in table.get_symbols() if one.is_referenced())
        used |= {one.get_name() for one in symbols if outermost or one.is_global()}
    return used
