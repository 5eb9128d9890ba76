"""What a model says of a picture, and what it would have said after each layer: its own head, applied earlier."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import nn

from vit_course.vit import ViT

MOST_CLASSES = 5  # of which the curves are drawn


class Parts(NamedTuple):
    """Where a model's tokens can be listened to, and what becomes of them."""

    blocks: list[nn.Module]
    norm: nn.Module
    head: Callable[[torch.Tensor], torch.Tensor] | None  # (B, T, D) after the norm -> (B, num_classes)


class Heard:
    """The tokens (1, T, D) of one forward pass: `layers`, before the first and after each, and `features`."""

    def __init__(self):
        self.layers: list[torch.Tensor] = []
        self.features: torch.Tensor | None = None


def parts_of(model: nn.Module) -> Parts | None:
    """-> the parts of a model of ours, timm's, torchvision's or Hugging Face's, or None where they are not plain."""
    if isinstance(model, ViT):
        return Parts(list(model.encoder.blocks), model.encoder.norm, _our_head(model))
    if all(hasattr(model, name) for name in ("blocks", "norm", "forward_head")):  # timm's
        # Without classes what comes out is an embedding.
        head = model.forward_head if getattr(model, "num_classes", 0) else None
        return Parts(list(model.blocks), model.norm, head)
    encoder = getattr(model, "encoder", None)
    if hasattr(encoder, "layers") and hasattr(encoder, "ln") and hasattr(model, "heads"):  # torchvision's
        return Parts(list(encoder.layers), encoder.ln, lambda z: model.heads(z[:, 0]))
    for base in (model, *model.children()):  # Hugging Face's, with a head and without
        blocks = getattr(base, "layers", None) or getattr(getattr(base, "encoder", None), "layer", None)
        norm = getattr(base, "layernorm", None)
        if isinstance(blocks, nn.ModuleList) and isinstance(norm, nn.Module):
            head = getattr(model, "classifier", None)
            return Parts(list(blocks), norm, _huggingface_head(head) if isinstance(head, nn.Linear) else None)
    return None


@contextmanager
def listening(parts: Parts | None) -> Iterator[Heard]:
    """Hears the tokens of the first forward pass inside the with block; afterwards no hook is left."""
    heard = Heard()
    if parts is None or not parts.blocks:
        yield heard
        return

    def came(_, inputs):
        heard.layers = [inputs[0].detach().clone()]

    def went(_, inputs, output):
        output = output[0] if isinstance(output, tuple) else output
        heard.layers.append(output.detach().clone())

    def normed(_, inputs, output):
        heard.features = output.detach().clone()

    hooks = [parts.blocks[0].register_forward_pre_hook(came), parts.norm.register_forward_hook(normed)]
    hooks += [block.register_forward_hook(went) for block in parts.blocks]
    try:
        yield heard
    finally:
        for hook in hooks:
            hook.remove()


@torch.no_grad()
def says_of(
    parts: Parts | None,
    heard: Heard,
    answer,
    labels: Sequence[str] | None,
    none: str | None = None,
    most: int = MOST_CLASSES,
) -> dict | None:
    """What an `AttentionExplorer` takes as `says`, or None where nothing sure can be said.

    After each layer the last norm and the head read the tokens as if no layer followed.

    Args:
        parts, heard: of one forward pass over one picture.
        answer: what the model returned.
        labels: the names of the classes; None for their numbers, empty where what comes out are no classes.
        none: what `none_fits` says of the answer.
        most: how many classes are told of.

    Raises:
        ValueError: another number of labels than of classes.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens" (LessWrong), for language models; for Vision
    Transformers Vilas, Schaumlöffel & Roig 2023 (arXiv:2310.18969).
    """
    logits = answer if isinstance(answer, torch.Tensor) else getattr(answer, "logits", None)
    known = isinstance(logits, torch.Tensor) and logits.ndim == 2 and logits.shape[1] > 1
    if not known or labels == [] or parts is None or parts.head is None or len(heard.layers) != len(parts.blocks) + 1:
        return None
    try:
        read = [parts.head(parts.norm(tokens)) for tokens in heard.layers]  # each (1, num_classes)
    except (RuntimeError, TypeError, IndexError, ValueError):  # a head that reads something else
        return None
    if read[-1].shape != logits.shape or not torch.allclose(read[-1].float(), logits.float(), rtol=1e-2, atol=1e-2):
        return None  # the model makes its logits in another way
    count = logits.shape[1]
    labels = [f"class {index}" for index in range(count)] if labels is None else list(labels)
    if len(labels) != count:
        raise ValueError(f"the model has {count} classes, and {len(labels)} labels were given")
    lens = torch.cat(read).float().softmax(dim=1)  # (L + 1, num_classes)
    best = lens[-1].topk(min(most, count)).indices
    said = {
        "labels": [str(labels[index]) for index in best.tolist()],
        "probabilities": lens[-1, best].tolist(),
        "lens": lens[:, best].tolist(),
        "about": f"the model's own head, for {count} classes",
    }
    return said if none is None else said | {"none": none}


def labels_in(model: nn.Module, preprocess) -> list[str] | None:
    """-> the names of the classes, where the model or its preprocessing knows them."""
    config = getattr(model, "config", None)
    names = getattr(config, "id2label", None)  # Hugging Face's
    if isinstance(names, dict) and names.get(0) != "LABEL_0":
        return [str(names[index]) for index in sorted(names)]
    meta = getattr(preprocess, "meta", None)  # an entry of torchvision's weights
    if isinstance(meta, dict) and "categories" in meta:
        return list(meta["categories"])
    config = getattr(model, "pretrained_cfg", None)
    if not isinstance(config, dict) or "timm" not in sys.modules:
        return None
    if config.get("label_names"):
        return list(config["label_names"])
    from timm.data import ImageNetInfo, infer_imagenet_subset

    subset = infer_imagenet_subset(model) if getattr(model, "num_classes", 0) else None
    # Of several names of a thing the first.
    return [name.split(",")[0] for name in ImageNetInfo(subset).label_descriptions()] if subset else None


def _our_head(model: ViT) -> Callable | None:
    if not model.config.num_classes:
        return None

    def head(z: torch.Tensor) -> torch.Tensor:
        if hasattr(model, "pooled"):  # a `VariantViT`
            return model.head(model.pre_logits(model.pooled(z)))
        y = z[:, 0] if model.config.pool == "cls" else z[:, model.config.num_prefix :].mean(dim=1)  # (B, D), Eq. 4
        return model.head(model.pre_logits(y))

    return head


def _huggingface_head(classifier: nn.Linear) -> Callable:
    def head(z: torch.Tensor) -> torch.Tensor:
        if classifier.in_features == 2 * z.shape[-1]:  # DINOv2's
            return classifier(torch.cat([z[:, 0], z[:, 1:].mean(dim=1)], dim=1))
        return classifier(z[:, 0])

    return head
