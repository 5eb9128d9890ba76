"""Exercise positions.shuffle: predictions of what a shuffle of the patches leaves alone."""

from itertools import permutations

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import scatter
from vit_course.checks.tools.table import by_answer
from vit_course.encoder import Encoder


@exercise("3.1", "Predict: what a shuffle leaves alone", section="A shuffle on paper", difficulty=2, minutes=8)
def shuffle(answer, draw, parts):
    """`answer()` -> {"mean_without_table", "one_vector_for_all", "table_of_places", "rows_shuffled_too",
    "pixels_inside", "class_outputs"}: "same", "shuffled" or "different", the last one a number."""
    same_answers(call(answer), _experiment(draw), parts, mistakes=by_answer(__name__, "by-hand"))


def _experiment(draw) -> dict:
    # The predictions are not written down here: a small encoder with random weights gives them.
    patches, pixels, width = 4, 9, 16
    encoder = Encoder(num_layers=2, hidden_dim=width, num_heads=2, mlp_dim=2 * width).double().eval()
    scatter(encoder, draw)
    x, embedding, class_token, table, one = (
        draw.normal(1, *shape, dtype=torch.float64)
        for shape in ((patches, pixels), (pixels, width), (1, width), (patches, width), (1, width))
    )
    order = torch.arange(patches).roll(1)

    @torch.no_grad()
    def encode(x, rows):
        tokens = torch.cat([class_token.expand(len(x), -1, -1), x @ embedding + rows], dim=1)
        return encoder(tokens)  # (B, T, D)

    def verdict(before, after):
        if (after - before).abs().max() < 1e-8:
            return "same"
        return "shuffled" if (after - before[:, order]).abs().max() < 1e-8 else "different"

    def outputs(x, rows):
        return encode(x, rows)[:, 1:]

    plain = outputs(x, 0.0)
    two_alike = table.clone()
    two_alike[:, 1] = two_alike[:, 2]
    orders = torch.tensor(list(permutations(range(patches))))  # (24, N)
    of_class = encode(x[0][orders], two_alike)[:, 0]  # (24, D)
    alike = (of_class[:, None] - of_class).abs().amax(dim=-1) < 1e-8  # (24, 24)
    return {
        "mean_without_table": verdict(plain.mean(1, keepdim=True), outputs(x[:, order], 0.0).mean(1, keepdim=True)),
        "one_vector_for_all": verdict(outputs(x, one), outputs(x[:, order], one)),
        "table_of_places": verdict(outputs(x, table), outputs(x[:, order], table)),
        "rows_shuffled_too": verdict(outputs(x, table), outputs(x[:, order], table[:, order])),
        "pixels_inside": verdict(plain, outputs(x[:, :, draw.permutation(pixels)], 0.0)),
        "class_outputs": int((alike.tril(-1).sum(dim=1) == 0).sum()),  # those that are like none before them
    }
