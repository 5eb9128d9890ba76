"""Attention maps of any Vision Transformer: record, interpret, compare with controls, and test by interventions."""

from vit_course.maps import controls, interpret
from vit_course.maps.effects import Effects, effects
from vit_course.maps.inside_branches import replaced, without_neurons
from vit_course.maps.intervene import (
    cut,
    hide,
    intervene,
    patched,
    reweighted,
    without_branch,
    without_head,
    without_layer,
)
from vit_course.maps.recording import RecordedMaps, attention_gradients, record_attention
from vit_course.maps.tokens import Tokens

__all__ = [
    "Effects", "RecordedMaps", "Tokens", "attention_gradients", "controls", "cut", "effects", "hide", "interpret",
    "intervene", "patched", "record_attention", "replaced", "reweighted", "without_branch",
    "without_head", "without_layer", "without_neurons",
]  # fmt: skip
