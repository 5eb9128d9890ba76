"""Answers to exercise without_labels.hidden_loss."""

import torch
import torch.nn.functional as F
from einops import rearrange

from answers import UNKNOWN, Answers
from vit_course.patches import patchify
from vit_course.training.masked import normalised

answers = Answers("without_labels.hidden_loss")
(faulty_loss,) = answers.given("faulty_loss")

answers.edits(
    (UNKNOWN, "of_image.mean()", "of_image.median()"),
    (UNKNOWN, "1e-6", "1e-5"),
    (UNKNOWN, "(error * hidden).sum(dim=1)", "(error * hidden).mean(dim=1)"),
    ("across-patches", "dim=2, keepdim", "dim=0, keepdim"),
    ("images-summed", "of_image.mean()", "of_image.sum()"),
    ("absolute-differences", "square()", "abs()"),
    ("squares-summed", "square().mean", "square().sum"),
    ("sign-changed", "of_image.mean()", "-of_image.mean()"),
)
answers.wrong("still-faulty")(faulty_loss)


@answers.right
def of_the_package(predicted, images, hidden, patch_size):
    target = normalised(patchify(images, patch_size))
    error = F.mse_loss(predicted, target, reduction="none").mean(dim=2)
    weights = hidden / hidden.sum(dim=1, keepdim=True) / len(hidden)
    return (error * weights).sum()


@answers.right
def in_a_loop(predicted, images, hidden, patch_size):
    patches = rearrange(images, "b c (r p) (s q) -> b (r s) (p q c)", p=patch_size, q=patch_size)
    total = 0.0
    for guesses, those, mask in zip(predicted, patches, hidden, strict=True):
        errors = []
        for place in range(len(mask)):
            if mask[place]:
                patch = those[place]
                target = (patch - patch.mean()) / (patch.var() + 1e-6) ** 0.5
                errors.append(((guesses[place] - target) ** 2).mean())
        total = total + sum(errors) / len(errors)
    return total / len(images)


@answers.right
def by_einsum(predicted, images, hidden, patch_size):
    B, C, H, W = images.shape
    P = patch_size
    patches = images.reshape(B, C, H // P, P, W // P, P).permute(0, 2, 4, 3, 5, 1).flatten(3).flatten(1, 2)
    spread = (patches.var(2, keepdim=True) + 1e-6).sqrt()
    error = (predicted - (patches - patches.mean(2, keepdim=True)) / spread).square().mean(2)
    return torch.einsum("bn,bn->b", error, hidden / hidden.sum(1, keepdim=True)).mean()


@answers.wrong("bugs-left")
def mask_repaired(predicted, images, hidden, patch_size):
    patches = patchify(images, patch_size)
    variance, mean = torch.var_mean(patches, dim=(1, 2), keepdim=True)
    error = (predicted - (patches - mean) / (variance + 1e-6).sqrt()).square().mean(dim=2)
    return error.masked_fill(~hidden, 0).mean()


@answers.wrong("by-the-image")
def all_but_the_normalisation(predicted, images, hidden, patch_size):
    patches = patchify(images, patch_size)
    variance, mean = torch.var_mean(patches, dim=(1, 2), keepdim=True)
    error = (predicted - (patches - mean) / (variance + 1e-6).sqrt()).square().mean(dim=2)
    return (error.masked_fill(~hidden, 0).sum(dim=1) / hidden.sum(dim=1)).mean()


@answers.wrong("hidden-patches-pooled")
def mean_over_the_batch(predicted, images, hidden, patch_size):
    error = (predicted - normalised(patchify(images, patch_size))).square().mean(dim=2)
    return error[hidden].mean()


@answers.wrong("loss-for-each-image")
def loss_for_each_image(predicted, images, hidden, patch_size):
    error = (predicted - normalised(patchify(images, patch_size))).square().mean(dim=2)
    return (error * hidden).sum(dim=1) / hidden.sum(dim=1)
