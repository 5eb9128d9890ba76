"""Exercise class_token.reached: predictions of which tokens the loss reaches."""

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.tools.by_hand import same_answers
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.table import by_answer
from vit_course.config import ViTConfig
from vit_course.vit import ViT


@exercise(
    "2.3", "Which tokens does the loss reach?", section="Which tokens does the loss reach?", difficulty=3, minutes=10
)
def reached(answer, parts):
    """`answer()` -> {"one_patch_in", "patch_mean_out", "patch_mean_in", ...}: numbers of tokens reached."""

    def patch_mean(z):
        return z[:, 1:].mean(dim=1)

    right = {
        "one_patch_in": _reached(lambda z: z[:, 3], stage=0),
        "patch_mean_out": _reached(patch_mean, stage=3),
        "patch_mean_in": _reached(patch_mean, stage=0),
        "all_off_patch_mean_in": _reached(patch_mean, stage=0, off=(0, 1, 2)),
        "last_off_between": _reached(lambda z: z[:, 0], stage=2, off=(2,)),
        "last_off_in": _reached(lambda z: z[:, 0], stage=0, off=(2,)),
    }
    same_answers(call(answer), right, parts, mistakes=by_answer(__name__, "by-hand"))


def _reached(read, stage: int, off: tuple[int, ...] = ()) -> int:
    # How many of the T = 7 tokens have a gradient: stage 0 is into the encoder, 1 and 2 between its blocks, 3 out.
    torch.manual_seed(0)
    model = ViT(ViTConfig((8, 12), 4, 10, hidden_dim=8, num_layers=3, num_heads=2, mlp_dim=16, in_channels=1))
    for index in off:
        for parameter in model.encoder.blocks[index].attention.projection.parameters():
            nn.init.zeros_(parameter)
    z = [model.positions(model.class_token(model.patch_embedding(torch.randn(2, 1, 8, 12))))]
    for block in model.encoder.blocks:
        z.append(block(z[-1]))
    z[3] = model.encoder.norm(z[3])  # out of the encoder is after its last norm
    loss = F.cross_entropy(model.head(read(z[3])), torch.tensor([1, 7]))
    (gradient,) = torch.autograd.grad(loss, z[stage])
    return int((gradient.norm(dim=2) > 0).all(dim=0).sum())
