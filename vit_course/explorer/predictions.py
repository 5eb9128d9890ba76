"""A model's predictions for a picture, at the end and after each layer (logit lens: its own head, applied early)."""

from collections.abc import Sequence

import torch

from vit_course.maps.interventions.forward_pass import ForwardPass
from vit_course.maps.interventions.logit_lens import lens_of
from vit_course.maps.models.statements import Statements

MOST_CLASSES = 5  # whose curves are drawn


@torch.no_grad()
def predicted_words(
    seen: ForwardPass,
    images: torch.Tensor,
    answer: object,
    labels: Sequence[str] | None,
    none: str | None = None,
    most: int = MOST_CLASSES,
    num_classes: int | None = None,
    unnamed: str = "",
) -> dict | None:
    """Returns what an `AttentionExplorer` takes as `says`, or None if the model's output is not known to be logits.

    After each layer, the model's last norm and head read the tokens as if no further layer followed.

    Args:
        seen: the forward pass over one picture.
        images: (1, C, H, W), that picture as the model takes it.
        answer: what the model returned.
        labels: the names of the classes; None to number them, empty if the outputs are not classes.
        none: the result of `none_fits` for the answer.
        most: how many classes to include.
        num_classes: how many logits the model says that it gives, None if it does not say so.
        unnamed: why the classes are numbered, for a reader who expects names.

    Raises:
        ValueError: the numbers of labels and of classes differ.

    Source: as `vit_course.maps.logit_lens`.
    """
    logits = _class_logits(answer, labels, num_classes)
    if logits is None:
        return None
    count = logits.shape[1]
    names = [f"class {index}" for index in range(count)] if labels is None else list(labels)
    if len(names) != count:
        raise ValueError(f"the model has {count} classes, but {len(names)} labels were given")
    try:
        lens = lens_of(seen, images, logits)[0].float().softmax(dim=1)  # (L + 1, num_classes)
    except (RuntimeError, TypeError, IndexError, ValueError):
        return None  # a model that takes one picture at a time, or whose head reads more than the last tokens
    best = lens[-1].topk(min(most, count)).indices
    said = {
        "labels": [str(names[index]) for index in best.tolist()],
        "probabilities": lens[-1, best].tolist(),
        "lens": lens[:, best].tolist(),
        "about": f"the model's own head, for {count} classes"
        + f", which are numbered because {unnamed}" * bool(unnamed),
    }
    return said if none is None else said | {"none": none}


def names_in(inside: Statements, preprocess: object, answer: object) -> tuple[list[str] | None, str]:
    """The names of the classes, or None, and why the names of a library's model are not taken, else "".

    Args:
        inside: of the model.
        preprocess: of the pictures; an entry of torchvision's weights has names too.
        answer: what the model returned.

    Raises:
        ValueError: an `id2label` in which a class is missing.
    """
    changed = inside.around
    try:
        names = inside.labels
    except ValueError as error:
        if changed:
            return None, changed
        raise ValueError(f"{error}: give labels=") from error
    meta = getattr(preprocess, "meta", None)
    if names is None and isinstance(meta, dict) and "categories" in meta:
        names = list(meta["categories"])
    logits = getattr(answer, "logits", answer)
    count = logits.shape[-1] if isinstance(logits, torch.Tensor) and logits.ndim == 2 else None
    if names is None or changed:
        return None, changed if names and changed else ""
    if count not in (None, len(names)):
        return None, f"the known names are those of {len(names)} other classes"
    return names, ""


def _class_logits(answer: object, labels: Sequence[str] | None, num_classes: int | None) -> torch.Tensor | None:
    # -> (1, num_classes), or None. A tensor of this shape may be an embedding, so that it counts as logits only if its
    # name, the model's number of classes, or labels confirm it.
    named = isinstance(getattr(answer, "logits", None), torch.Tensor)
    logits = answer.logits if named else answer
    if not isinstance(logits, torch.Tensor) or logits.ndim != 2 or logits.shape[1] < 2:
        return None
    known = named or num_classes == logits.shape[1] or labels
    return logits if known and labels != [] else None
