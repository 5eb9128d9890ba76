"""The objective with labels: predict the label."""

import math

import torch.nn.functional as F
from torch import nn

from vit_course.data import Dataset
from vit_course.training.checking import check_logits
from vit_course.training.objective import Objective, full_precision


class Supervised(Objective):
    """(B, C, H, W), (B,), draws -> (), {"accuracy": (B,)}

    From images and labels to the mean cross-entropy, and 1 for each image that is classified correctly. Labels may be
    mixed, (B, K): the loss is then the same mixture of the losses of both labels, and the label with the larger share
    counts as correct.

    Args:
        model: takes (B, C, H, W), gives (B, num_classes).
        dataset: the dataset that has the classes.
        label_smoothing: in training, the share of the target that is spread over all classes.

    Source: Dosovitskiy et al. 2020, section 4.1; Szegedy et al. 2015 (arXiv:1512.00567), section 7, for the smoothing.
    """

    name = "supervised"
    measures = ("accuracy",)

    def __init__(self, model: nn.Module, dataset: Dataset, label_smoothing: float = 0.0):
        super().__init__(model)
        self.dataset_name, self.num_classes = dataset.name, len(dataset.class_names)
        self.label_smoothing = label_smoothing

    def forward(self, images, labels, draws, count):
        logits = self.model(images)  # (B, num_classes)
        check_logits(logits, images, self.dataset_name, self.num_classes)
        right = labels
        if labels.ndim == 2:  # mixed; the model may have classes beyond those of the data
            labels, right = F.pad(labels, (0, logits.shape[1] - labels.shape[1])), labels.argmax(dim=1)
        smoothing = self.label_smoothing if self.training else 0.0
        loss = F.cross_entropy(full_precision(logits), labels, label_smoothing=smoothing)
        if not self.training and not logits.isfinite().all():
            loss = loss * math.nan  # the loss alone does not show a logit of minus infinity
        return loss, {"accuracy": (logits.argmax(dim=1) == right).double()}

    def is_best(self, history: list[dict]) -> bool:
        *before, last = (row["validation_accuracy"] for row in history)
        return all(last > accuracy for accuracy in before)
