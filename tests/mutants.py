"""Generates mutants of the worked solutions, with one mistake each, which the checks must refuse.

A mutant is one small change of the syntax tree: another axis, another order, a sign, a scale, one more or one less, a
term, a call, a setting or a line left out, two lines exchanged, one variable taken for another, train for eval,
float64 for float32. Some mutants change nothing; equivalent.toml lists them with their reason.
"""

import ast
import copy
import difflib
from collections.abc import Callable, Iterator

SWAPPED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mod,
           ast.Mod: ast.FloorDiv, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
           ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or,
           ast.Or: ast.And}  # fmt: skip
NAMES = {"train": "eval", "eval": "train", "sum": "mean", "mean": "sum", "min": "max", "max": "min", "sin": "cos",
         "cos": "sin", "softmax": "log_softmax", "argmax": "argmin", "square": "abs", "gelu": "relu", "sqrt": "square",
         "amax": "amin", "cat": "stack", "stack": "cat", "float": "long", "rand": "randn", "GELU": "ReLU",
         "chunk": "split", "split": "chunk"}  # fmt: skip
KEPT = (ast.Return, ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Raise)


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """-> (the changed lines, or which are moved or left out; the changed source), one mistake each, none twice."""
    tree = ast.parse(source)
    original = ast.unparse(tree)
    seen = {original}
    for number, change in _all_changes(tree):
        other = copy.deepcopy(tree)
        change(next(found for place, found in enumerate(ast.walk(other)) if place == number))
        code = ast.unparse(ast.fix_missing_locations(other))
        if code not in seen and _compiles(code):
            seen.add(code)
            yield _changed_lines(original, code), code


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


def _changed_lines(before: str, after: str) -> str:
    # ast.unparse writes a dict in one line; this puts each entry in its own line, as in the solution.
    old, new = (code.replace(", '", ",\n'").split("\n") for code in (before, after))
    lines = list(difflib.ndiff(old, new))
    gone, come = ([line[1:].strip(" ,") for line in lines if line[:1] == sign] for sign in "-+")
    if sorted(gone) == sorted(come):
        return "moved: " + " | ".join(come)
    return " | ".join(come) or "without " + " | ".join(gone)


def _all_changes(tree: ast.AST) -> Iterator[tuple[int, Callable]]:
    # -> (the index of a node, a function that changes the same node of a copy). Error messages are not changed.
    said = {id(part) for node in ast.walk(tree) if isinstance(node, ast.Raise) for part in ast.walk(node)}
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    others = _neighbours(tree)
    for number, node in enumerate(ast.walk(tree)):
        if id(node) in said:
            continue
        changes = [*_of_an_operation(node), *_of_a_constant(node), *_of_items(node), *_of_lines(node)]
        if isinstance(node, ast.Call):
            changes += _of_a_call(node, is_a_line=id(node) in bare)
        changes += [lambda n, name=name: setattr(n, "id", name) for name in others.get(id(node), ())]
        for change in changes:
            yield number, change


def _of_an_operation(node: ast.AST) -> Iterator[Callable]:
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPPED:
        yield lambda n: setattr(n, "op", SWAPPED[type(n.op)]())
    if isinstance(node, ast.BinOp):
        yield lambda n: _become(n, n.left)
        yield lambda n: _become(n, n.right)
        if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.FloorDiv, ast.Pow, ast.Mod)):
            yield lambda n: _exchange(n, "left", "right")
    if isinstance(node, ast.BoolOp):
        for place in range(len(node.values)):
            yield lambda n, p=place: n.values.pop(p)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
        yield lambda n: n.ops.__setitem__(0, SWAPPED[type(n.ops[0])]())
    if isinstance(node, ast.UnaryOp):
        yield lambda n: _become(n, n.operand)
    if isinstance(node, ast.AugAssign):
        yield lambda n: _become(n, ast.Assign([n.target], n.value))
    if isinstance(node, ast.Slice):
        for bound in ("lower", "upper", "step"):
            yield lambda n, bound=bound: setattr(n, bound, None)
    if isinstance(node, ast.Return) and node.value:
        yield lambda n: setattr(n, "value", ast.Call(ast.Attribute(n.value, "double", ast.Load()), [], []))


def _of_a_constant(node: ast.AST) -> Iterator[Callable]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield lambda n: setattr(n, "value", n.value + 1)
        yield lambda n: setattr(n, "value", n.value - 1)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield lambda n: setattr(n, "value", not n.value)
    if isinstance(node, ast.Constant) and type(node.value) is float:
        yield lambda n: setattr(n, "value", 2 * n.value)
    if isinstance(node, ast.Attribute) and node.attr in NAMES:
        yield lambda n: setattr(n, "attr", NAMES[n.attr])


def _of_a_call(node: ast.Call, is_a_line: bool) -> Iterator[Callable]:
    symmetric = isinstance(node.func, ast.Attribute) and node.func.attr in ("transpose", "swapaxes")
    for place in range(0 if symmetric else len(node.args) - 1):
        yield lambda n, p=place: _swap(n.args, p)
    for place in range(len(node.keywords)):
        yield lambda n, p=place: n.keywords.pop(p)
    if ast.unparse(node.func) == "range" and not isinstance(node.args[-1], ast.Constant):
        for step in (1, -1):
            yield lambda n, step=step: _more(n.args, step)
    if is_a_line:  # left out as a line
        return
    if isinstance(node.func, ast.Attribute):
        yield lambda n: _become(n, n.func.value)
    if node.args:
        yield lambda n: _become(n, n.args[0])


def _of_items(node: ast.AST) -> Iterator[Callable]:
    # The order of a list of plain numbers, such as those of several runs, does not matter; that of a tuple's axes does.
    if not isinstance(node, (ast.Tuple, ast.List)):
        return
    numbers = isinstance(node, ast.List) and all(isinstance(item, ast.Constant) for item in node.elts)
    for place in range(len(node.elts)):
        if place and not numbers:
            yield lambda n, p=place: _swap(n.elts, p - 1)
        if len(node.elts) > 1:
            yield lambda n, p=place: n.elts.pop(p)


def _of_lines(node: ast.AST) -> Iterator[Callable]:
    for field in ("body", "orelse"):
        lines = getattr(node, field, None)
        if not isinstance(lines, list):
            continue
        for place, line in enumerate(lines):
            words = isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)  # a docstring
            if len(lines) > 1 and not isinstance(line, KEPT) and not words:
                yield lambda n, f=field, p=place: getattr(n, f).pop(p)
                if place + 1 < len(lines) and _must_come_first(line, lines[place + 1]):
                    yield lambda n, f=field, p=place: _swap(getattr(n, f), p)
            if isinstance(line, (ast.With, ast.Try)):
                yield lambda n, f=field, p=place: getattr(n, f).__setitem__(slice(p, p + 1), getattr(n, f)[p].body)


def _must_come_first(line: ast.AST, following: ast.AST) -> bool:
    # False for two assignments of which neither uses what the other defines.
    if isinstance(following, KEPT) or not (isinstance(line, ast.Assign) and isinstance(following, ast.Assign)):
        return not isinstance(following, KEPT)
    return bool(_names(line, ast.Store) & _names(following) or _names(following, ast.Store) & _names(line))


def _names(tree: ast.AST, context: type = ast.expr_context) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def _neighbours(tree: ast.AST) -> dict[int, set[str]]:
    # The id of a variable's use -> the names defined before and after it in the same function.
    found: dict[int, set[str]] = {}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        inside = list(ast.walk(function))
        names = [node.arg for node in inside if isinstance(node, ast.arg) and node.arg != "self"]
        names += [node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        names = [name for name in dict.fromkeys(names) if name not in _second_names(inside)]
        for node in inside:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
                place = names.index(node.id)
                found[id(node)] = {names[place - 1], names[(place + 1) % len(names)]} - {node.id}
    return found


def _second_names(nodes: list[ast.AST]) -> set[str]:
    # Such as P in `P = patch_size`.
    copies = (node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name))
    return {name for node in copies for name in _names(node, ast.Store)}


def _become(node: ast.AST, other: ast.AST) -> None:
    # A node cannot replace itself in its parent: it takes the other's class and fields.
    fields = dict(vars(other))
    node.__class__ = other.__class__
    node.__dict__.clear()
    node.__dict__.update(fields)


def _exchange(node: ast.AST, one: str, other: str) -> None:
    first, second = getattr(node, one), getattr(node, other)
    setattr(node, one, second)
    setattr(node, other, first)


def _swap(items: list, place: int) -> None:
    items[place], items[place + 1] = items[place + 1], items[place]


def _more(arguments: list, step: int) -> None:
    arguments[-1] = ast.BinOp(arguments[-1], ast.Add(), ast.Constant(step))
