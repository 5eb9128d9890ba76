"""Attention maps of any Vision Transformer: record, interpret, compare with controls, and test by interventions.

`vit_course.maps` itself is what the chapters read: recording, interpretation, controls and gradients.
`vit_course.maps.interventions` changes a model while it runs, and computes what is built on that.
`vit_course.maps.models` says what a model of any library is; both others ask it.
"""

from vit_course.maps import controls, interpret
from vit_course.maps.attention_gradients import attention_gradients
from vit_course.maps.interventions.activation_cache import run_with_cache
from vit_course.maps.interventions.effects import Effects, effects
from vit_course.maps.interventions.intervene import intervene
from vit_course.maps.interventions.logit_attribution import Attribution, head_attribution
from vit_course.maps.interventions.logit_lens import logit_lens
from vit_course.maps.interventions.make_interventions import (
    cut,
    hide,
    patched,
    replaced,
    reweighted,
    without_branch,
    without_head,
    without_layer,
    without_neurons,
)
from vit_course.maps.interventions.mean_activations import mean_activations
from vit_course.maps.interventions.stored_means import MeanActivations
from vit_course.maps.interventions.value_weighted_maps import value_weighted
from vit_course.maps.models.families import describe
from vit_course.maps.models.tokens import Tokens
from vit_course.maps.recording import RecordedMaps, record_attention

__all__ = [
    "Attribution", "Effects", "MeanActivations", "RecordedMaps", "Tokens", "attention_gradients", "controls", "cut",
    "describe", "effects", "head_attribution", "hide", "interpret", "intervene", "logit_lens", "mean_activations",
    "patched", "record_attention", "replaced", "reweighted", "run_with_cache", "value_weighted", "without_branch",
    "without_head", "without_layer", "without_neurons",
]  # fmt: skip
