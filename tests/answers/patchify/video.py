"""Answers to exercise patchify.video."""

import torch
import torch.nn.functional as F
from einops import rearrange

from answers import right, unforeseen, wrong
from vit_course import patches as package


@right("patchify.video")
def by_eight_axes(video, frames, P):
    B, M, C, H, W = video.shape
    x = video.reshape(B, M // frames, frames, C, H // P, P, W // P, P)
    x = x.permute(0, 1, 4, 6, 2, 5, 7, 3)
    return x.reshape(B, -1, frames * P * P * C)


@right("patchify.video")
def by_einops(video, frames, patch_size):
    return rearrange(video, "b (t m) c (r i) (q j) -> b (t r q) (m i j c)", m=frames, i=patch_size, j=patch_size)


@right("patchify.video")
def by_slices(video, frames, P):
    out = []
    for start in range(0, video.shape[1], frames):
        for top in range(0, video.shape[3], P):
            for left in range(0, video.shape[4], P):
                block = video[:, start : start + frames, :, top : top + P, left : left + P]
                out.append(block.permute(0, 1, 3, 4, 2).flatten(1))
    return torch.stack(out, dim=1)


@right("patchify.video")
def by_frames(video, frames, P):
    each = [package.patchify(frame, P) for frame in video.unbind(1)]
    return torch.cat([torch.cat(each[k : k + frames], dim=2) for k in range(0, len(each), frames)], dim=1)


@right("patchify.video")
def by_einsum(video, frames, P):
    B, M, C, H, W = video.shape
    x = video.reshape(B, M // frames, frames, C, H // P, P, W // P, P)
    return torch.einsum("btmcriqj->btrqmijc", x).flatten(4).flatten(1, 3)


@right("patchify.video")
def by_unfold(video, frames, P):
    B, M, C = video.shape[:3]
    x = F.unfold(video.flatten(0, 1), P, stride=P).reshape(B, M // frames, frames, C, P, P, -1)
    return x.permute(0, 1, 6, 2, 4, 5, 3).reshape(B, -1, frames * P * P * C)


for slug, pattern in (
    ("strips", "b (t m) c (r i) (q j) -> b (t r m) (i q j c)"),
    ("time-inside-out", "b (m t) c (r i) (q j) -> b (t r q) (m i j c)"),
    ("split-swapped", "b (t m) c (i r) (j q) -> b (t r q) (m i j c)"),
    ("time-last", "b (t m) c (r i) (q j) -> b (r q t) (m i j c)"),
    ("columns-first", "b (t m) c (r i) (q j) -> b (t q r) (m i j c)"),
    ("frame-last", "b (t m) c (r i) (q j) -> b (t r q) (i j m c)"),
    ("frame-last", "b (t m) c (r i) (q j) -> b (t r q) (i j c m)"),
    ("channels-first", "b (t m) c (r i) (q j) -> b (t r q) (m c i j)"),
    ("channels-first", "b (t m) c (r i) (q j) -> b (t r q) (c m i j)"),
    ("pixels-transposed", "b (t m) c (r i) (q j) -> b (t r q) (m j i c)"),
    ("frames-apart", "b (t m) c (r i) (q j) -> b (t m r q) (i j c)"),
    ("grid-kept", "b (t m) c (r i) (q j) -> b t r q (m i j c)"),
    ("blocks-last", "b (t m) c (r i) (q j) -> b (m i j c) (t r q)"),
):
    wrong("patchify.video", slug)(lambda v, m, p, pattern=pattern: rearrange(v, pattern, m=m, i=p, j=p))


@wrong("patchify.video", "bare-reshape")
def reshaped(video, frames, P):
    return video.reshape(len(video), -1, frames * P * P * video.shape[2])


@wrong("patchify.video", "raised-error")
def fixed(video, frames, P):
    return by_einops(video, frames, 7)


@right("patchify.video")
def number_by_number(video, frames, P):
    _, M, C, H, W = video.shape
    blocks = [(t, r, q) for t in range(0, M, frames) for r in range(0, H, P) for q in range(0, W, P)]
    inside = [(m, i, j, c) for m in range(frames) for i in range(P) for j in range(P) for c in range(C)]
    return torch.stack(
        [torch.stack([video[:, t + m, c, r + i, q + j] for m, i, j, c in inside], 1) for t, r, q in blocks], 1
    )


@wrong("patchify.video", "axis-of-one-dropped")
def one_block_squeezed(video, frames, P):
    return by_einops(video, frames, P).squeeze(1)


@wrong("patchify.video", "arguments-exchanged")
def exchanged(video, frames, P):
    return by_einops(video, P, frames)


@wrong("patchify.video", "first-frames-only")
def one_block_in_time(video, frames, P):
    return by_einops(video[:, :frames], frames, P)


@wrong("patchify.video", "gradient-cut")
def detached(video, frames, P):
    return by_einops(video.detach(), frames, P)


@unforeseen("patchify.video")
def backwards(video, frames, P):
    return by_einops(video.flip(1), frames, P)


@wrong("patchify.video", "frames-apart")
def frame_by_frame(video, frames, P):
    cut = package.patchify(video.flatten(0, 1), P)
    return cut.reshape(len(video), -1, frames * cut.shape[2])


@wrong("patchify.video", "axes-not-joined")
def still_eight_axes(video, frames, P):
    B, M, C, H, W = video.shape
    return video.reshape(B, M // frames, frames, C, H // P, P, W // P, P).permute(0, 1, 4, 6, 2, 5, 7, 3)


@wrong("patchify.video", "three-channels-only")
def of_colour(video, frames, P):
    B, M, _, H, W = video.shape
    x = video.reshape(B, M // frames, frames, 3, H // P, P, W // P, P).permute(0, 1, 4, 6, 2, 5, 7, 3)
    return x.reshape(B, -1, frames * P * P * 3)


@wrong("patchify.video", "two-frames-only")
def in_pairs(video, frames, P):
    B, M, C, H, W = video.shape
    x = video.reshape(B, M // 2, 2, C, H // P, P, W // P, P).permute(0, 1, 4, 6, 2, 5, 7, 3)
    return x.reshape(B, -1, 2 * P * P * C)


@wrong("patchify.video", "axes-misread")
def channels_second(video, frames, P):
    return by_einops(video.transpose(1, 2), frames, P)


@wrong("patchify.video", "view-of-transposed")
def viewed(video, frames, P):
    B, M, C, H, W = video.shape
    x = video.view(B, M // frames, frames, C, H // P, P, W // P, P).permute(0, 1, 4, 6, 2, 5, 7, 3)
    return x.view(B, -1, frames * P * P * C)


@wrong("patchify.video", "gradient-cut")
def by_numpy(video, frames, P):
    return torch.from_numpy(by_einops(video.numpy(), frames, P).copy())
