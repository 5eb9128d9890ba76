"""Tables of experiments that were run with several seeds when the course was written."""

import csv

from vit_course._support.files.course_files import stored


def stored_runs(table: str, experiment: str) -> dict[str, list[float]]:
    """The results of an experiment of a chapter, with each seed.

    Args:
        table: the name of a table in res/experiments, such as "encoder"; the script beside it makes it again.
        experiment: one of its experiments.

    Returns:
        {setting: [the number of seed 0, of seed 1, ...]}, in the order of the table.

    Raises:
        ValueError: there is no such table, or it has no such experiment; the message names those that exist.
    """
    with stored(f"experiments/{table}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found: dict[str, list[float]] = {}
    for row in rows:
        if row["experiment"] == experiment:
            found.setdefault(row["setting"], []).append(float(row["value"]))
    if not found:
        names = ", ".join(dict.fromkeys(row["experiment"] for row in rows))
        raise ValueError(f"the table {table!r} has the experiments {names}, not {experiment!r}")
    return found
