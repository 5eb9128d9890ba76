"""Attention maps of any Vision Transformer: record, interpret, compare with controls, and test by interventions."""

from vit_course.maps import controls, interpret
from vit_course.maps.activation_cache import run_with_cache
from vit_course.maps.attention_gradients import attention_gradients
from vit_course.maps.effects import Effects, effects
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
from vit_course.maps.intervene_in_branches import replaced, without_neurons
from vit_course.maps.logit_attribution import Attribution, head_attribution
from vit_course.maps.logit_lens import logit_lens
from vit_course.maps.mean_activations import mean_activations
from vit_course.maps.recording import RecordedMaps, record_attention
from vit_course.maps.stored_means import MeanActivations
from vit_course.maps.tokens import Tokens
from vit_course.maps.value_weighted_maps import value_weighted

__all__ = [
    "Attribution", "Effects", "MeanActivations", "RecordedMaps", "Tokens", "attention_gradients", "controls", "cut",
    "effects", "head_attribution", "hide", "interpret", "intervene", "logit_lens", "mean_activations", "patched",
    "record_attention", "replaced", "reweighted", "run_with_cache", "value_weighted", "without_branch",
    "without_head", "without_layer", "without_neurons",
]  # fmt: skip
