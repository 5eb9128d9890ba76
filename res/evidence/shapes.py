"""Two slow measurements of chapter 09 on the model of the five shapes.

    python res/evidence/shapes.py

- exchanged.csv: the class token's row of one head ("all": of all four heads of a layer) comes from another of the first
  500 test images, the one `donor` images before. `changed` is the share of the 500 predictions that change. `share` is
  the share of the head's attention that lies on the object, which has nothing to do with the donor.
- occlusion.csv: each of the 64 patches in turn is set to grey, and the patches are ranked by how far the logit of the
  class that the model named falls. `accuracy` is that on the first 250 test images with the highest `patches` of the
  ranking grey, all at once.

About two minutes on one core.
"""

from pathlib import Path

import torch
from scores import greyed, occlusion

from vit_course import data, pretrained
from vit_course.files.atomic import write_csv
from vit_course.maps import interpret, intervene, record_attention, reweighted

FOLDER = Path(__file__).parent
DONORS, GREY = (1, 2, 3, 4, 5), (2, 4, 8, 16)


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


def without(images: torch.Tensor, ranking: torch.Tensor, count: int, grid: tuple[int, int]) -> torch.Tensor:
    """(B, C, H, W), (B, N) -> (B, C, H, W), the patches that are highest in the ranking set to grey."""
    first = ranking.topk(count, dim=1).indices  # (B, count)
    keep = torch.ones_like(ranking).scatter(1, first, 0.0).unflatten(1, grid)  # (B, rows, columns)
    return greyed(images, keep[:, None])


def main() -> None:
    """Writes both tables."""
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
    write_csv(FOLDER / "exchanged.csv", lines)

    half, named = images[:250], named[:250, None]  # (B, C, H, W), (B, 1)
    before = logits_of(model, half).gather(1, named)
    drops = occlusion(lambda some: (before - logits_of(model, some).gather(1, named))[:, 0], half, grid)
    ranking, lines = drops.flatten(1), []  # (B, N)
    for count in GREY:
        right = logits_of(model, without(half, ranking, count, grid)).argmax(dim=1) == test.labels[:250]
        lines.append({"patches": count, "accuracy": right.double().mean().item()})
    write_csv(FOLDER / "occlusion.csv", lines)


if __name__ == "__main__":
    main()
