"""Whether the tokens inside a whole model are made of one patch each, by one matrix, in the order of the patches."""

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.heads import close
from vit_course.checks.tools.modules import feed
from vit_course.checks.tools.whole_parts import WholeParts


def patches_apart(parts: WholeParts, images: torch.Tensor, draw) -> None:
    """Raises `Wrong` unless two patches can change places in images (B, C, H, W), with their rows of the positions.

    Args:
        parts: of the learner's model; its parameters are as before afterwards.
        images: whose patches change places.
        draw: of the check.
    """
    row, patch = parts.flat.get(), parts.patch
    parts.flat.set(0.3 * draw.normal(parts.flat.total))
    before, table = feed(parts.module, images).detach(), parts.table()
    columns = images.shape[3] // patch
    # The first and the last keep their places in any order of a grid, the two beside the first do not.
    for words, (one, other) in (
        ("The first and the last patch", (0, parts.tokens - 2)),
        ("The patches to the right of the first and below the first", (1, columns)),
    ):
        swapped, order = images.clone(), torch.arange(parts.tokens)
        order[1 + one], order[1 + other] = 1 + other, 1 + one
        for here, there in ((one, other), (other, one)):
            _patch(swapped, here, patch)[:] = _patch(images, there, patch)
        parts.set_table(table[order])
        if not close(feed(parts.module, swapped).detach(), before):
            raise Wrong(
                "patches-mixed",
                f"{words} were swapped together with their positions, and the logits changed: a token is not made "
                "from one patch, or the tokens are not in the order of the patches.",
            )
    parts.flat.set(row)


def _patch(images: torch.Tensor, index: int, side: int) -> torch.Tensor:
    columns = images.shape[3] // side
    row, column = side * (index // columns), side * (index % columns)
    return images[..., row : row + side, column : column + side]


def by_one_matrix(parts: WholeParts, images: torch.Tensor, draw) -> None:
    """Raises `Wrong` unless 1 more in every pixel is for the tokens what the sums of the matrix are; see above."""
    row, (matrix,) = parts.flat.get(), parts.embedding
    parts.flat.set(0.3 * draw.normal(parts.flat.total))
    axes = [axis for axis, size in enumerate(matrix.shape) if size == parts.width]
    if len(axes) == 1:
        expected = feed(parts.module, images + 1).detach()
        table = parts.table()
        table[1:] += matrix.detach().movedim(axes[0], 0).flatten(1).sum(1)
        parts.set_table(table)
        received = feed(parts.module, images).detach()
        if not close(received, expected):
            sentence = "The tokens are not the patches multiplied by one matrix, with their positions added once."
            details = ["Received: different logits for brighter images and for positions shifted by the same amount"]
            raise Wrong("embedding-not-linear", sentence, details)
    parts.flat.set(row)
