"""Attention maps of any Vision Transformer: recorded, interpreted, and compared with controls."""

from vit_course.maps import controls, interpret
from vit_course.maps.recording import RecordedMaps, attention_gradients, record_attention
from vit_course.maps.tokens import Tokens

__all__ = ["RecordedMaps", "Tokens", "attention_gradients", "controls", "interpret", "record_attention"]
