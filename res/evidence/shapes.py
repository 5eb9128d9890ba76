"""What the model of the five shapes says with other rows of attention: a table of chapter 09.

    python res/evidence/shapes.py

Written to exchanged.csv: the class token's row of one head ("all": of all four heads of a layer) comes from another of
the first 500 test images, the one `donor` images before; or, of all heads, it is the mean row of the 500 ("mean").
`changed` is the share of the 500 predictions that change. `share` is the share of the head's attention that lies on the
object, which has nothing to do with the donor.

About a minute on one core.
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


def exchanged(model, images, layer: int, heads: list[int], rows: torch.Tensor) -> torch.Tensor:
    """-> (B,), the classes named when these heads of the class token use `rows`, (B, h, T)."""
    parts = iter(rows.split(100))

    def by(weights):  # (B, h, T, T)
        changed = weights.clone()
        changed[:, :, 0] = next(parts)
        return changed

    with intervene(model, [reweighted(layer, heads, by)]):
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
    for donor in DONORS:
        for layer in range(4):
            rows = own[:, layer].roll(donor, dims=0)  # (B, h, T)
            for name, heads in [(str(head), [head]) for head in range(4)] + [("all", [0, 1, 2, 3])]:
                changed = (exchanged(model, images, layer, heads, rows) != named).double().mean().item()
                line = {"donor": donor, "layer": layer, "head": name}
                lines.append(line | {"share": share[layer, heads].mean().item(), "changed": changed})
    for layer in range(4):
        rows = own[:, layer].mean(dim=0).expand_as(own[:, layer])  # (B, h, T), the same for all images
        changed = (exchanged(model, images, layer, [0, 1, 2, 3], rows) != named).double().mean().item()
        line = {"donor": "mean", "layer": layer, "head": "all"}
        lines.append(line | {"share": share[layer].mean().item(), "changed": changed})
    write_csv(TABLE, lines)


if __name__ == "__main__":
    main()
