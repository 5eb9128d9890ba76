"""CIFAR-10, downloaded the first time."""

from pathlib import Path

import numpy as np
import torch

from vit_course._support.inputs.arguments import check_arguments
from vit_course._support.inputs.extras import extra
from vit_course.data.dataset import Dataset, source_of, with_statistics
from vit_course.data.pictures import need_path
from vit_course.data.sets import ImageSet


def cifar10(root: str | Path = "data", download: bool = True, seed: int = 0) -> Dataset:
    """CIFAR-10, 32 x 32 in colour, ten classes: 45,000 / 5,000 / 10,000. Downloads 170 MB the first time, with a bar.

    Args:
        root: the folder in which `cifar-10-batches-py` is, or should be.
        download: whether to download what is missing.
        seed: which training images are set apart for validation.

    Raises:
        ValueError: the data are missing and were not downloaded, or are damaged; a root that is not a folder, or
            an argument of another kind.

    Source: A. Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009.
    """
    with extra("course", "CIFAR-10"):
        from torchvision.datasets import CIFAR10
    root = need_path("folder", root)
    check_arguments(download=download, seed=seed)
    if Path(root).exists() and not Path(root).is_dir():
        raise ValueError(f"{root} is a file: give the folder in which cifar-10-batches-py is, or should be")
    try:
        sources = [CIFAR10(root, train=train, download=download) for train in (True, False)]
    except (RuntimeError, OSError) as error:
        raise ValueError(
            f"CIFAR-10 is not in {Path(root).resolve()} and could not be loaded ({type(error).__name__}). With a "
            "network, call cifar10(download=True); without one, copy the folder cifar-10-batches-py there. "
            "data.shapes() and data.digits() need no network."
        ) from error
    whole, test = (
        ImageSet(torch.from_numpy(source.data).permute(0, 3, 1, 2).contiguous(), torch.tensor(source.targets))
        for source in sources
    )
    order = torch.from_numpy(np.random.RandomState(seed).permutation(len(whole)))
    train, validation = (whole[part] for part in order.split((len(whole) * 9 // 10, len(whole) - len(whole) * 9 // 10)))
    source = source_of(cifar10, "cifar10", root=root, seed=seed)
    return with_statistics("cifar10", train, validation, test, tuple(sources[0].classes), source)
