"""Answers to exercise start.sizes."""

import torch
from torch import nn

from answers import UNKNOWN, Answers
from vit_course.config import ViTConfig
from vit_course.patches import PatchEmbedding, patchify

answers = Answers("start.sizes")

answers.edits(
    ("one-side-only", "** 2  # 12 x 12", "** 1  # 12 x 12"),
    ("batch-forgotten", "= 8", "= 1"),
    ("sizes-of-vit-b-16", "1024", "768"),
    (UNKNOWN, "(384 // P)", "(416 // P)"),
)


@answers.right
def measured():
    patches = patchify(torch.zeros(1, 3, 384, 384), 32)
    tokens = PatchEmbedding(32, 3, 1024)(torch.zeros(1, 3, 384, 384)).expand(8, -1, -1)
    sequence = torch.cat([torch.zeros(8, 1, 1024), tokens], dim=1)
    return {
        "patches": patches.shape[1],
        "numbers_per_patch": patches.shape[2],
        "patch_tokens": tokens.shape,
        "into_the_encoder": sequence.shape,
        "logits": nn.Linear(1024, 1000)(sequence[:, 0]).shape,
        "patches_at_768": ViTConfig.preset("vit-l/16", patch_size=32, image_size=768).num_patches,
    }


@answers.right
def numbers_alone():
    return {
        "patches": 144,
        "numbers_per_patch": 3072,
        "patch_tokens": (8, 144, 1024),
        "into_the_encoder": (8, 145, 1024),
        "logits": (8, 1000),
        "patches_at_768": 576,
    }


@answers.right
def lists_for_shapes():
    B, N, D = 8, 12**2, 1024
    return {
        "patches": N,
        "numbers_per_patch": 3 * 32**2,
        "patch_tokens": [B, N, D],
        "into_the_encoder": [B, N + 1, D],
        "logits": [B, 1000],
        "patches_at_768": 4 * N,
    }
