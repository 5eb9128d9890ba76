"""Attention maps of any Vision Transformer: record, interpret, compare with controls, and test by interventions."""

from vit_course.maps import controls, interpret
from vit_course.maps.effects import Effects, effects
from vit_course.maps.gradients import attention_gradients
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
from vit_course.maps.mean_activations import mean_activations
from vit_course.maps.means import MeanActivations
from vit_course.maps.recording import RecordedMaps, record_attention
from vit_course.maps.tokens import Tokens

__all__ = [
    "Effects", "MeanActivations", "RecordedMaps", "Tokens", "attention_gradients", "controls", "cut", "effects", "hide",
    "interpret", "intervene", "mean_activations", "patched", "record_attention", "reweighted", "without_branch",
    "without_head", "without_layer",
]  # fmt: skip
