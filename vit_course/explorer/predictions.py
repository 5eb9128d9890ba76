"""What a model says of a picture, and what it would have said after each layer: its own head, applied earlier."""

from collections.abc import Sequence

import torch

from vit_course.maps.active_interventions import unrecorded
from vit_course.maps.forward_pass import ForwardPass

MOST_CLASSES = 5  # of which the curves are drawn


@torch.no_grad()
def says_of(
    seen: ForwardPass,
    images: torch.Tensor,
    answer: object,
    labels: Sequence[str] | None,
    none: str | None = None,
    most: int = MOST_CLASSES,
) -> dict | None:
    """What an `AttentionExplorer` takes as `says`, or None where the model does not say that it tells classes apart.

    After each layer the rest of the model, its last norm and its head, reads the tokens as if no layer followed.

    Args:
        seen: the pass over one picture.
        images: (1, C, H, W), that picture as the model takes it.
        answer: what the model returned.
        labels: the names of the classes; None for their numbers, empty where what comes out are no classes.
        none: what `none_fits` says of the answer.
        most: how many classes are told of.

    Raises:
        ValueError: another number of labels than of classes.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens" (LessWrong), for language models; for Vision
    Transformers Vilas, Schaumlöffel & Roig 2023 (arXiv:2310.18969).
    """
    logits = _class_logits(seen.model, answer, labels)
    if logits is None or len(seen.outputs) != len(seen.blocks):
        return None
    count = logits.shape[1]
    names = [f"class {index}" for index in range(count)] if labels is None else list(labels)
    if len(names) != count:
        raise ValueError(f"the model has {count} classes, and {len(names)} labels were given")
    tokens = torch.cat(seen.tokens())  # (L + 1, T, D): what each layer gives, as if it were another picture
    try:
        with unrecorded():
            read = seen.continued(images.expand(len(tokens), -1, -1, -1), [tokens] * len(seen.blocks))
    except (RuntimeError, TypeError, IndexError, ValueError):  # of a model that takes one picture alone
        return None
    lens = getattr(read, "logits", read).float().softmax(dim=1)  # (L + 1, num_classes)
    best = lens[-1].topk(min(most, count)).indices
    said = {
        "labels": [str(names[index]) for index in best.tolist()],
        "probabilities": lens[-1, best].tolist(),
        "lens": lens[:, best].tolist(),
        "about": f"the model's own head, for {count} classes",
    }
    return said if none is None else said | {"none": none}


def _class_logits(model: torch.nn.Module, answer: object, labels: Sequence[str] | None) -> torch.Tensor | None:
    # (1, num_classes). Other tensors of this shape are embeddings: that they are classes somebody has to say.
    named = isinstance(getattr(answer, "logits", None), torch.Tensor)
    logits = answer.logits if named else answer
    if not isinstance(logits, torch.Tensor) or logits.ndim != 2 or logits.shape[1] < 2:
        return None
    said = getattr(getattr(model, "config", model), "num_classes", None) or getattr(model, "num_classes", None)
    known = named or said == logits.shape[1] or labels
    return logits if known and labels != [] else None
