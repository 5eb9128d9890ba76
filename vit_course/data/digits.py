"""Real handwritten digits that come inside scikit-learn."""

import numpy as np
import torch

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.extras import extra
from vit_course.data.dataset import Dataset, source_of, with_statistics
from vit_course.data.sets import ImageSet


def digits(seed: int = 0) -> Dataset:
    """The 1,797 real handwritten digits, 8 x 8 in grey, that come inside scikit-learn: 1,197 / 200 / 400.

    Args:
        seed: which image goes where.

    Raises:
        ValueError: an invalid seed.

    Source: E. Alpaydin, C. Kaynak, Optical Recognition of Handwritten Digits, UCI, 1998.
    """
    check_arguments(seed=seed)
    with extra("course", "the set of handwritten digits"):
        from sklearn.datasets import load_digits
    source = load_digits()
    images = torch.from_numpy((source.images * (255 / 16)).round().astype(np.uint8))[:, None]  # (n, 1, 8, 8)
    whole = ImageSet(images, torch.from_numpy(source.target.astype(np.int64)))
    order = torch.from_numpy(np.random.RandomState(seed).permutation(len(whole)))
    train, validation, test = (whole[part] for part in order.split((1197, 200, 400)))
    return with_statistics(
        "digits", train, validation, test, tuple("0123456789"), source_of(digits, "digits", seed=seed)
    )
