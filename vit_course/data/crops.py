"""Small crops of the photographs that come with the course: natural images without a download."""

import torch

from vit_course._support.inputs.arguments import check_arguments
from vit_course.data.dataset import Dataset, source_of, with_statistics
from vit_course.data.photographs import photographs
from vit_course.data.pictures import open_image
from vit_course.data.sets import ImageSet

SIDE, WHOLE = 32, 192  # pixels, of a crop and of the photograph that it is cut from
SEEN = WHOLE * 2 // 3  # training crops lie to the left of this column, the others to the right

# More photographs came later; the stored results of trainings on crops are those of these.
CROPPED = (
    *("astronaut", "cat", "clock", "coffee", "dahlia", "galaxies", "grace_hopper", "pagoda", "photographer", "retina"),
    "rocket",
)


def crops(num_train: int = 2200, num_validation: int = 220, num_test: int = 220, seed: int = 0) -> Dataset:
    """Crops of 32 x 32 from eleven of the course's photographs; the class of a crop is its photograph.

    Each photograph is made 192 x 192. Training crops lie in its left two thirds; the others lie in the right third, so
    that no pixel of theirs was trained on.

    Args:
        num_train, num_validation, num_test: how many crops; the photographs take turns.
        seed: where they are cut.

    Raises:
        ValueError: an invalid number.
        OSError: this installation has no files of the course.
    """
    sizes = dict(num_train=num_train, num_validation=num_validation, num_test=num_test)
    check_arguments(**sizes, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    images = [open_image(photographs()[name].path, WHOLE) for name in CROPPED]
    parts = []
    for count, (left, right) in zip(sizes.values(), ((0, SEEN), (SEEN, WHOLE), (SEEN, WHOLE)), strict=True):
        tops = torch.randint(0, WHOLE - SIDE + 1, (count,), generator=generator).tolist()
        lefts = torch.randint(left, right - SIDE + 1, (count,), generator=generator).tolist()
        labels = torch.arange(count) % len(CROPPED)
        cut = [images[k][:, y : y + SIDE, x : x + SIDE] for k, y, x in zip(labels, tops, lefts, strict=True)]
        parts.append(ImageSet(torch.stack(cut), labels))
    return with_statistics("crops", *parts, CROPPED, source_of(crops, "crops", **sizes, seed=seed))
