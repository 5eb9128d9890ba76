"""Phrases in the explorer, for models of images and words: their similarity with each token."""

from typing import Any

import numpy as np
import torch

from vit_course._support.inputs.rules import shown
from vit_course.vit import ViT


def classifier_of(model: Any, phrases: Any) -> ViT:
    """The ViT of a `Contrastive`, with a class for each phrase.

    Raises:
        TypeError: another model.
        ValueError: fewer than two phrases, or words that the model does not know.
    """
    # Imported here, as it takes time.
    from vit_course.training.checking import check_kind
    from vit_course.training.contrastive import Contrastive

    check_kind("with phrases, model", model, Contrastive)
    if not isinstance(phrases, (list, tuple)) or len(phrases) < 2:
        raise ValueError(f"phrases must be a list of at least 2 sentences, got {shown(phrases)}")
    return model.classifier(phrases)


def need_phrases(phrases, tokens: int) -> dict[str, np.ndarray]:
    """Returns from each phrase its cosine with each token, (T,) float32; empty if `phrases` is None."""
    if phrases is None:
        return {}
    if not isinstance(phrases, dict) or not all(isinstance(phrase, str) and phrase for phrase in phrases):
        raise ValueError(f"phrases must be a dict from each phrase to {tokens} cosines, got {shown(phrases)}")
    found = {}
    for phrase, cosines in phrases.items():
        values = torch.as_tensor(cosines).detach().cpu().float()
        if values.shape != (tokens,) or not bool((values.abs() <= 1.001).all()):
            raise ValueError(f"the phrase {phrase!r} needs {tokens} cosines, one for each token, got {shown(cosines)}")
        found[phrase] = values.numpy()
    return found
