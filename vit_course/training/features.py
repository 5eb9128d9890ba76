"""What a model without a head has learned: its features, and how well the nearest of them tell the class."""

import torch
import torch.nn.functional as F

from vit_course._support.inputs.arguments import check_arguments
from vit_course.data import Dataset, Images, load_batches
from vit_course.training.checking import need_kind, none_read
from vit_course.training.processes import device_of
from vit_course.vit import ViT

# Of Caron et al. 2021, section 4.1 and appendix F: how many neighbours vote, and how much more the nearer ones count.
NEIGHBOURS, TEMPERATURE = 20, 0.07


@torch.no_grad()
def features(
    model: ViT, images: Images, dataset: Dataset, batch_size: int = 500, workers: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """-> (n, 2 D), (n,): of each image the class token beside the mean of the patch tokens, and its label

    In eval mode; the model's own mode is restored. A model without a class token gives (n, D), the mean alone.

    Args:
        model: a `ViT`; a head is not used.
        images: such as `dataset.train`.
        dataset: normalises the images.
        batch_size: images at a time.
        workers: processes that read images ahead, where they are on disk.

    Raises:
        TypeError: not a ViT, or not a dataset.
        ValueError: images of another size than the model's, none that could be read, or a batch_size that is not an
            int of at least 1.
    """
    need_kind("model", model, ViT)
    need_kind("dataset", dataset, Dataset)
    check_arguments(batch_size=batch_size)
    was_training, device = model.training, device_of(model)
    model.eval()
    found, labels = [], []
    try:
        for batch in load_batches(images, torch.arange(len(images)).split(batch_size), workers):
            if len(batch):
                tokens = model.features(dataset.normalise(batch.images.to(device)))  # (B, T, D)
                patches = tokens[:, model.config.num_prefix :].mean(dim=1)
                found.append(torch.cat([tokens[:, 0], patches], dim=1) if model.config.pool == "cls" else patches)
                labels.append(batch.labels.to(device))
    finally:
        model.train(was_training)
    if not found:
        raise none_read(images, "the search for features")
    return torch.cat(found), torch.cat(labels)


def nearest_neighbours(known: torch.Tensor, labels: torch.Tensor, asked: torch.Tensor, classes: int) -> torch.Tensor:
    """(n, D), (n,), (m, D) -> (m,): the class that wins the vote of the 20 known features that are most similar

    A vote counts exp(cosine / 0.07).

    Source: Wu et al. 2018 (arXiv:1805.01978), section 3.4, as Caron et al. 2021 use it.
    """
    known, found = F.normalize(known, dim=1), []
    for some in F.normalize(asked, dim=1).split(1000):
        cosines, nearest = (some @ known.T).topk(min(NEIGHBOURS, len(known)), dim=1)  # (m, 20)
        votes = torch.zeros(len(some), classes, device=some.device)
        found.append(votes.scatter_add_(1, labels[nearest], (cosines / TEMPERATURE).exp()).argmax(dim=1))
    return torch.cat(found)


def knn_accuracy(model: ViT, dataset: Dataset, batch_size: int = 500, workers: int = 0) -> float:
    """-> the share of the test images whose nearest neighbours among the training images tell their class.

    Args, Raises: as `features`.
    """
    known, labels = features(model, dataset.train, dataset, batch_size, workers)
    asked, wanted = features(model, dataset.test, dataset, batch_size, workers)
    found = nearest_neighbours(known, labels, asked, len(dataset.class_names))
    return (found == wanted).double().mean().item()
