"""What the model of the five shapes says with other rows of attention: a table of chapter 09.

    python res/evidence/shapes.py

Written to exchanged.csv: in all heads of a layer, the class token's row comes from another of the first 500 test
images, the one `donor` images before; or it is the mean row of the 500 ("mean"); or every token gets the same weight
("even"). `changed` is the share of the 500 predictions that change. `share` is the share of the layer's attention that
lies on the object, which has nothing to do with the donor.

Some seconds on one core.
"""

from pathlib import Path

import torch

from vit_course import data, pretrained
from vit_course._support.files.atomic import write_csv
from vit_course.maps import interpret, intervene, record_attention, reweighted

TABLE = Path(__file__).with_name("exchanged.csv")
DONORS = (1, 2, 3, 4, 5)


@torch.no_grad()
def logits_of(model, images: torch.Tensor) -> torch.Tensor:
    """(B, C, H, W) -> (B, K)."""
    return torch.cat([model(part) for part in images.split(100)])


def exchanged(model, images, layer: int, rows: torch.Tensor) -> torch.Tensor:
    """-> (B,), the classes named when the class token of this layer uses `rows`, (B, h, T)."""
    parts = iter(rows.split(100))

    def by(weights):  # (B, h, T, T)
        changed = weights.clone()
        changed[:, :, 0] = next(parts)
        return changed

    with intervene(model, [reweighted(layer, slice(None), by)]):
        return logits_of(model, images).argmax(dim=1)


def main() -> None:
    """Writes the table."""
    torch.set_num_threads(1)
    shapes, model = data.shapes(), pretrained.load("shapes")
    test, grid = shapes.test[:500], model.config.grid
    images = shapes.normalise(test.images)  # (B, C, H, W)
    with torch.no_grad(), record_attention(model) as recorded:
        logits = logits_of(model, images)
    own, named = recorded.stacked()[:, :, :, 0], logits.argmax(dim=1)  # (B, L, h, T), (B,)
    share = interpret.mask_score(own[..., 1:].unflatten(-1, grid), test.masks[:, None, None]).mean(dim=0)  # (L, h)
    lines = []
    for donor in (*DONORS, "mean", "even"):
        for layer in range(4):
            of_layer = own[:, layer]  # (B, h, T)
            if donor == "mean":
                rows = of_layer.mean(dim=0).expand_as(of_layer)
            elif donor == "even":
                rows = torch.full_like(of_layer, 1 / of_layer.shape[-1])
            else:
                rows = of_layer.roll(donor, dims=0)
            changed = (exchanged(model, images, layer, rows) != named).double().mean().item()
            lines.append({"donor": donor, "layer": layer, "share": share[layer].mean().item(), "changed": changed})
    write_csv(TABLE, lines)


if __name__ == "__main__":
    main()
