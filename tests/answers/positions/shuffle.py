"""Answers to exercise positions.shuffle."""

from itertools import permutations

import torch
from torch import nn

from answers import UNKNOWN, Answers

answers = Answers("positions.shuffle")

answers.edits(
    ("mean-sees-order", '"mean_without_table": "same"', '"mean_without_table": "different"'),
    ("outputs-stay-behind", '"table_of_places": "different"', '"table_of_places": "same"'),
    ("rows-known-by-number", '"rows_shuffled_too": "shuffled"', '"rows_shuffled_too": "different"'),
    ("patches-moved", '"pixels_inside": "different"', '"pixels_inside": "shuffled"'),
    ("no-such-option", '"pixels_inside": "different"', '"pixels_inside": "mixed"'),
    ("float-count", "24 // 2", "24 / 2"),
    (UNKNOWN, "24 // 2", "24 - 2"),
)


@answers.right
def counted():
    rows = [1, 2, 2, 3]
    sets = {frozenset((patch, rows[place]) for place, patch in enumerate(order)) for order in permutations(range(4))}
    return {
        "mean_without_table": "same",
        "one_vector_for_all": "shuffled",
        "table_of_places": "different",
        "rows_shuffled_too": "shuffled",
        "pixels_inside": "different",
        "class_outputs": len(sets),
    }


@answers.right
def tried():
    torch.manual_seed(3)
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).double().eval()
    x = torch.randn(1, 4, 8).double()
    one = torch.randn(1, 1, 8).double()
    table = torch.randn(1, 4, 8).double()
    order = torch.tensor([2, 0, 3, 1])

    def verdict(before, after):
        if torch.allclose(before, after):
            return "same"
        return "shuffled" if torch.allclose(before[:, order], after) else "different"

    with torch.no_grad():
        alike = table.clone()
        alike[:, 0] = alike[:, 1]
        means = [layer(x[:, list(o)] + alike).mean(1).round(decimals=6) for o in permutations(range(4))]
        return {
            "class_outputs": torch.cat(means).unique(dim=0).shape[0],
            "mean_without_table": verdict(layer(x).mean(1, True), layer(x[:, order]).mean(1, True)),
            "one_vector_for_all": verdict(layer(x + one), layer(x[:, order] + one)),
            "table_of_places": verdict(layer(x + table), layer(x[:, order] + table)),
            "rows_shuffled_too": verdict(layer(x + table), layer((x + table)[:, order])),
            "pixels_inside": verdict(layer(x), layer(x[:, :, [1, 0, 2, 3, 4, 5, 6, 7]])),
        }


@answers.right
def in_capitals():
    return {
        "mean_without_table": " Same",
        "one_vector_for_all": "SHUFFLED",
        "table_of_places": "Different",
        "rows_shuffled_too": "Shuffled ",
        "pixels_inside": "different",
        "class_outputs": torch.tensor(12),
    }
