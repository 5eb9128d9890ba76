"""Checks the parts of a widget's state against a table of their default and valid values, as state_table.js does."""

import json
import math
from typing import Any

from vit_course._support.inputs.rules import is_int, shown


def refusal(table: dict, name: str, value: Any, counts: dict[str, int]) -> str:
    """Returns a sentence that says why a part of the state cannot take a value, or "" if it can.

    Args:
        table: by the names of the parts: `usual`, the default, and `choices`, `flag`, or, for a number, `least`, `most`
            and `whole`, or `counts`, the name of a count that it must stay below; with `shape` the value is a list of
            such values, or a list of lists.
        name: of the part.
        value: the value to check.
        counts: the counts that the table names, such as the number of layers.
    """
    if name not in table:
        return f"there is no {name}; the names are {', '.join(table)}"
    part = table[name]
    least, most = part.get("least", -math.inf), part.get("most", math.inf)
    if "counts" in part:
        most = counts[part["counts"]] - 1

    def fits(value, shape) -> bool:
        if shape:
            is_list = isinstance(value, (list, tuple)) and len(value) == shape[0]
            return is_list and all(fits(one, shape[1:]) for one in value)
        if "choices" in part:
            return any(type(value) is type(one) and value == one for one in part["choices"])
        if part.get("flag"):
            return isinstance(value, bool)
        number = is_int(value) or (isinstance(value, float) and math.isfinite(value) and not part.get("whole"))
        return number and least <= value <= most

    shape = part.get("shape", [])
    if fits(value, shape):
        return ""
    if "choices" in part:
        wanted = f"one of {', '.join(json.dumps(one) for one in part['choices'])}"
    elif part.get("flag"):
        wanted = "True or False"
    else:
        kind = "whole number" if part.get("whole") else "number"
        wanted = f"{' x '.join(map(str, shape))} {kind}s" if shape else f"a {kind}"
        wanted += f" from {least} to {most}"
    return f"{name} must be {wanted}, got {shown(value)}"
