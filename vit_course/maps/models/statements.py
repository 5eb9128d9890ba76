"""What a model, or the one inside a known wrapper, states about the images and the classes that it was made for."""

from collections.abc import Mapping
from typing import Any

from torch import nn

from vit_course._support.inputs.class_names import names_by_number, names_of_timm
from vit_course._support.inputs.rules import is_int
from vit_course.maps.models.description import (
    Description,
    find_description,
    library_of,
    own_attribute,
    own_config,
    unwrapped,
)


class Statements:
    """What a model states about itself; None where it states nothing, or where it is not known to hold.

    What is inside `nn.DataParallel`, a compiled model or another of `WRAPPERS` holds for the whole. A class of
    somebody's own may change the images on their way to the model inside, or its output, so there the caller has to
    say how images are prepared and what the classes are.

    Args:
        model: any ViT.
    """

    def __init__(self, model: nn.Module):
        self.name = type(model).__name__
        self.description: Description | None = None
        try:
            self.description = find_description(model)
        except ValueError:  # several models, or one whose parts are not where they should be
            self.around: str | None = f"{self.name} is not known to pass its images to one model inside"
        else:
            self.around = self._around()
        self.stating = [unwrapped(model)]  # those whose statements hold for the whole
        if self.description is not None and self.around is None:
            self.stating.append(self.description.inside)

    def _around(self) -> str | None:
        # Why what the described module states does not hold for the whole, or None.
        if self.description is None or self.description.is_bare:
            return None
        return (
            f"{self.name} is a class around {self.description.name}, at {self.description.path}, and may change its "
            "images or its output"
        )

    @property
    def image_size(self) -> tuple[int, int] | None:
        """(H, W) of the images that the model was made for."""
        return self.description.image_size if self.description is not None and self.around is None else None

    @property
    def channels(self) -> int:
        """The number of image channels."""
        return 3 if self.description is None else self.description.channels

    @property
    def library(self) -> str | None:
        """The library of the described model, or of the model itself."""
        found = (library_of(module) for module in self.stating)
        inside = None if self.description is None else library_of(self.description.inside)
        return next(filter(None, found), inside)

    @property
    def timm_config(self) -> Mapping[str, Any] | None:
        """timm's description of the images that the model was trained on."""
        for module in self.stating:
            config = own_attribute(module, "pretrained_cfg")
            if isinstance(config, Mapping) and config.get("mean") and config.get("std"):
                return config
        return None

    @property
    def checkpoint(self) -> str | None:
        """The name or folder from which Hugging Face's library loaded the model, where its processor is too."""
        return next((name for module in self.stating if (name := own_attribute(module, "name_or_path"))), None)

    @property
    def num_classes(self) -> int | None:
        """How many logits the model gives, if it says that it gives logits."""
        model = self.stating[0]
        name = "num_labels" if "Classification" in type(model).__name__ else "num_classes"
        counts = getattr(own_config(model), name, None), own_attribute(model, name)
        return next((count for count in counts if is_int(count) and count), None)

    @property
    def gives_one_class(self) -> bool:
        """Whether a softmax makes probabilities of what the model gives.

        Not for several labels at once, nor for regression, as `problem_type` of Hugging Face's models says.
        """
        kinds = [getattr(own_config(module), "problem_type", None) for module in self.stating]
        return not {"multi_label_classification", "regression"} & {*kinds}

    @property
    def labels(self) -> list[str] | None:
        """The names of the classes of a library's model.

        Raises:
            ValueError: an `id2label` in which a class is missing.
        """
        model = self.stating[0]
        if library_of(model) == "transformers" and (id2label := getattr(own_config(model), "id2label", None)):
            names = names_by_number(id2label, type(model).__name__)
            return None if names[0] == "LABEL_0" else names  # which stands for a name that nobody gave
        return names_of_timm(model, short=True) if library_of(model) == "timm" else None
