"""Answers to exercise patchify.video."""

import torch
import torch.nn.functional as F
from einops import rearrange

from answers import UNKNOWN, Answers
from vit_course.patches import patchify

answers = Answers("patchify.video")

answers.edits(
    ("view-of-transposed", "return x.reshape(", "return x.view("),
    ("square-assumed", "W // P", "H // P"),
)


@answers.right
def by_einops(video, frames, P):
    return rearrange(video, "b (t m) c (r i) (q j) -> b (t r q) (m i j c)", m=frames, i=P, j=P)


@answers.right
def by_slices(video, frames, P):
    blocks = []
    for start in range(0, video.shape[1], frames):
        for top in range(0, video.shape[3], P):
            for left in range(0, video.shape[4], P):
                block = video[:, start : start + frames, :, top : top + P, left : left + P]
                blocks.append(block.permute(0, 1, 3, 4, 2).flatten(1))
    return torch.stack(blocks, dim=1)


@answers.right
def by_frames(video, frames, P):
    each = [patchify(frame, P) for frame in video.unbind(1)]
    return torch.cat([torch.cat(each[k : k + frames], dim=2) for k in range(0, len(each), frames)], dim=1)


@answers.right
def by_einsum(video, frames, P):
    B, M, C, H, W = video.shape
    x = video.reshape(B, M // frames, frames, C, H // P, P, W // P, P)
    return torch.einsum("btmcriqj->btrqmijc", x).reshape(B, -1, frames * P * P * C)


@answers.right
def by_unfold(video, frames, P):
    B, M, C = video.shape[:3]
    x = F.unfold(video.flatten(0, 1), P, stride=P).reshape(B, M // frames, frames, C, P, P, -1)
    return x.permute(0, 1, 6, 2, 4, 5, 3).reshape(B, -1, frames * P * P * C)


@answers.right
def number_by_number(video, frames, P):
    _, M, C, H, W = video.shape
    inside = [(m, i, j, c) for m in range(frames) for i in range(P) for j in range(P) for c in range(C)]
    blocks = []
    for t in range(0, M, frames):
        for r in range(0, H, P):
            for q in range(0, W, P):
                blocks.append(torch.stack([video[:, t + m, c, r + i, q + j] for m, i, j, c in inside], dim=1))
    return torch.stack(blocks, dim=1)


@answers.wrong("three-channels-only")
def of_three_channels(video, frames, P):
    B, M, _, H, W = video.shape
    x = video.reshape(B, M // frames, frames, 3, H // P, P, W // P, P)
    x = x.permute(0, 1, 4, 6, 2, 5, 7, 3)
    return x.reshape(B, -1, frames * P * P * 3)


@answers.wrong("frame-last")
def frame_last(video, frames, P):
    return rearrange(video, "b (t m) c (r i) (q j) -> b (t r q) (i j m c)", m=frames, i=P, j=P)


@answers.wrong("blocks-in-another-order")
def rows_before_time(video, frames, P):
    return rearrange(video, "b (t m) c (r i) (q j) -> b (r t q) (m i j c)", m=frames, i=P, j=P)


@answers.wrong(UNKNOWN)
def backwards(video, frames, P):
    return rearrange(video.flip(1), "b (t m) c (r i) (q j) -> b (t r q) (m i j c)", m=frames, i=P, j=P)
