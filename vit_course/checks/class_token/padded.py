"""Exercise class_token.padded: the mean of the patches that are real, where images were padded."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.functions import Mistake, same_function


@exercise("The mean of the real patches", section="Does it matter which token speaks?", difficulty=2, minutes=8)
def padded(answer, draw):
    """`answer(z, real)`: (B, T, D) with a class token in front, bool (B, N) -> (B, D), each image's own mean."""
    draws = []
    for batch, patches, width in (draw.sizes(3, low=4), draw.sizes(3, low=4)):
        # Of each image another number of patches is real, at least one and not all, and the last ones are not.
        real = torch.zeros(batch, patches, dtype=torch.bool)
        for image in range(batch):
            real[image, : 1 + image % (patches - 1)] = True
        draws.append((draw.normal(batch, 1 + patches, width), real))

    def right(z, real):
        weights = real.float()[..., None]
        return (z[:, 1:] * weights).sum(dim=1) / weights.sum(dim=1)

    def shifted(z, real):
        weights = real.float()[..., None]
        return (z[:, :-1] * weights).sum(dim=1) / weights.sum(dim=1)

    def with_class_token(z, real):
        kept = torch.cat([torch.ones_like(real[:, :1]), real], dim=1).float()[..., None]
        return (z * kept).sum(dim=1) / kept.sum(dim=1)

    same_function(
        answer,
        right,
        draws,
        axes="(B, D)",
        mistakes=[
            Mistake(
                "divided-by-all",
                "The sum is over the real patches, and it is divided by the number of all patches.",
                lambda z, real: (z[:, 1:] * real[..., None]).mean(dim=1),
            ),
            Mistake(
                "divided-by-tokens",
                "The sum is over the real patches, and it is divided by the number of all tokens.",
                lambda z, real: (z[:, 1:] * real[..., None]).sum(dim=1) / z.shape[1],
            ),
            Mistake(
                "sum-of-patches",
                "The sum over the real patches comes back, which grows with their number.",
                lambda z, real: (z[:, 1:] * real[..., None]).sum(dim=1),
            ),
            Mistake("padding-counted", "The padded patches are in the mean.", lambda z, real: z[:, 1:].mean(dim=1)),
            Mistake(
                "class-token-in-mean",
                "The class token and the padded patches are in the mean.",
                lambda z, real: z.mean(dim=1),
            ),
            Mistake("class-token-in-mean", "The class token is counted as if it were a patch.", with_class_token),
            Mistake(
                "shifted-by-one",
                "The mask is one token early: it begins with patch 0, and here it meets the class token first.",
                shifted,
            ),
            Mistake(
                "mask-inverted",
                "This is the mean of the padded patches.",
                lambda z, real: right(z, ~real),
            ),
            Mistake(
                "images-mixed",
                "The real patches of all images are averaged together.",
                lambda z, real: z[:, 1:][real].mean(dim=0),
            ),
            Mistake("class-token-read", "The class token comes back.", lambda z, real: z[:, 0]),
            Mistake(
                "axis-kept",
                "The axis of tokens is still there, with length 1.",
                lambda z, real: right(z, real)[:, None],
            ),
        ],
    )
