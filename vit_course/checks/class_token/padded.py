"""Exercise class_token.padded: the mean of the patches that are real, where images were padded."""

import torch

from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.table import table


def padded(answer, draw):
    """`answer(z, real)`: (B, T, D) with a class token in front, bool (B, N) -> (B, D), each image's own mean."""
    draws = []
    for batch, patches, width in (draw.sizes(3, low=4), draw.sizes(3, low=4), (3, 5, 1)):
        draws.append((draw.normal(batch, 1 + patches, width), _masks(draw, batch, patches)))
    # All patches of all images are real; then a single image, a single patch, and one number a token.
    draws.append((draw.normal(2, 5, 3), torch.ones(2, 4, dtype=torch.bool)))
    draws.append((draw.normal(1, 2, 1), torch.ones(1, 1, dtype=torch.bool)))
    same_function(answer, right, draws, table(__name__, "mistakes", right), "(B, D)")


def _masks(draw, batch: int, patches: int) -> torch.Tensor:
    # (B, N): 2, 3, ... of the patches are real, at other places in each image; of the last image all of them.
    real = torch.zeros(batch, patches, dtype=torch.bool)
    for image in range(batch):
        count = patches if image == batch - 1 else 2 + image % (patches - 2)
        real[image, draw.permutation(patches)[:count]] = True
    real[0, 0], real[0, -1] = False, True  # neither the first ones nor all but the last
    return real


def _count(kept):
    return kept.sum(dim=1, keepdim=True)


def right(z, real, read=lambda z: z[:, 1:], mask=torch.Tensor.float, count=_count):
    """(B, D): the tokens that are read, added up by a mask (B, N) and divided by a count of it."""
    kept = mask(real).float()
    return (read(z) * kept[..., None]).sum(dim=1) / count(kept)
