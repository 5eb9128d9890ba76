"""The shape ledger that grows from chapter to chapter."""

from collections.abc import Sequence

import torch

from vit_course._support.inputs.rules import shown
from vit_course._support.inputs.tensors import check_tensor


def ledger(rows: Sequence[tuple[str, str, torch.Tensor]]) -> None:
    """Prints one line per step: what it is, its shape in letters, and the shape that the tensor really has.

    Args:
        rows: (step, shape in letters such as "(B, N, D)", tensor).

    Raises:
        TypeError: not a tensor.
        ValueError: rows that are not such triples, or letters that name another number of axes than the tensor has.
    """
    if not isinstance(rows, (tuple, list)):
        raise ValueError(f"the ledger takes a list of rows, got {shown(rows)}")
    for row in rows:
        if not isinstance(row, (tuple, list)) or len(row) != 3 or not all(isinstance(word, str) for word in row[:2]):
            raise ValueError(f"a row of the ledger is (step, shape in letters, tensor), got {shown(row)}")
        step, letters, tensor = row
        check_tensor(step, tensor)
        if letters.count(",") + 1 != tensor.ndim:
            raise ValueError(
                f"{step}: {letters} names {letters.count(',') + 1} axes, but the tensor has shape {tuple(tensor.shape)}"
            )
    table = [("step", "shape", "here"), *((step, letters, str(tuple(t.shape))) for step, letters, t in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(2)]
    for row in table:
        print(f"{row[0]:<{widths[0]}}   {row[1]:<{widths[1]}}   {row[2]}")
