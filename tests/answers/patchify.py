"""Answers to the exercises of chapter 01."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange
from einops.layers.torch import Rearrange
from torch import nn

from answers import right, unforeseen, wrong
from vit_course import patches as package
from vit_course.checks.draw import Draw

# ---- count


@right("patchify.count")
def with_divmod(height, width, patch_size):
    rows, rest = divmod(height, patch_size)
    columns, other = divmod(width, patch_size)
    if rest or other:
        raise ValueError("does not fit")
    return rows * columns


@right("patchify.count")
def of_package(height, width, patch_size):
    rows, columns = package.patch_grid_of(torch.empty(1, 1, height, width), patch_size)
    return rows * columns


@right("patchify.count")
def counted(height, width, P):
    for side in (height, width):
        if side % P != 0:
            raise ValueError(f"{side} is not a multiple of {P}")
    total = 0
    for _ in range(0, height, P):
        for _ in range(0, width, P):
            total += 1
    return total


@right("patchify.count")
def whole_numbers_from_floats(height, width, patch_size):
    rows, columns = height / patch_size, width / patch_size
    if not rows.is_integer() or not columns.is_integer():
        raise ValueError
    return int(rows * columns)


def _fitting(height, width, P):
    if height % P or width % P:
        raise ValueError("does not fit")


def _fits_and(function):
    def count(height, width, P):
        _fitting(height, width, P)
        return function(height, width, P)

    return count


for slug, function in (
    ("one-side-only", lambda h, w, p: h // p),
    ("one-side-only", lambda h, w, p: w // p),
    ("square-assumed", lambda h, w, p: (h // p) ** 2),
    ("square-assumed", lambda h, w, p: (w // p) ** 2),
    ("sides-added", lambda h, w, p: h // p + w // p),
    ("side-not-squared", lambda h, w, p: h * w // p),
    ("class-token-counted", lambda h, w, p: (h // p) * (w // p) + 1),
    ("float-count", lambda h, w, p: (h / p) * (w / p)),
    ("hard-coded-size", lambda h, w, p: (h // Draw(0).sizes(3)[2]) * (w // Draw(0).sizes(3)[2])),
    ("returned-nothing", lambda h, w, p: print(h // p * w // p)),
):
    wrong("patchify.count", slug)(_fits_and(function))
unforeseen("patchify.count")(_fits_and(lambda h, w, p: (h // p - 1) * (w // p - 1)))


@wrong("patchify.count", "rounds-down")
def floor(height, width, patch_size):
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "rounds-down")
def truncated(height, width, patch_size):
    return int(height / patch_size) * int(width / patch_size)


@wrong("patchify.count", "rounds-up")
def ceiling(height, width, patch_size):
    return math.ceil(height / patch_size) * math.ceil(width / patch_size)


@wrong("patchify.count", "area-divided")
def area(height, width, patch_size):
    return height * width // patch_size**2


@wrong("patchify.count", "only-area-checked")
def area_checked(height, width, patch_size):
    if height * width % patch_size**2:
        raise ValueError
    return height * width // patch_size**2


@wrong("patchify.count", "only-height-checked")
def height_checked(height, width, patch_size):
    if height % patch_size:
        raise ValueError
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "only-width-checked")
def width_checked(height, width, patch_size):
    if width % patch_size:
        raise ValueError
    return height * width // patch_size**2


@wrong("patchify.count", "refused-only-if-both")
def both(height, width, patch_size):
    if height % patch_size and width % patch_size:
        raise ValueError
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "another-error")
def asserted(height, width, patch_size):
    assert height % patch_size == 0 and width % patch_size == 0
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "returned-not-raised")
def error_returned(height, width, patch_size):
    if height % patch_size or width % patch_size:
        return ValueError("does not fit")
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "returned-not-raised")
def printed(height, width, patch_size):
    if height % patch_size or width % patch_size:
        print("does not fit")
        return None
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "good-size-refused")
def only_square(height, width, patch_size):
    if height != width:
        raise ValueError("not square")
    return (height // patch_size) ** 2


@wrong("patchify.count", "good-size-refused")
def condition_inverted(height, width, patch_size):
    if height % patch_size == 0 and width % patch_size == 0:
        raise ValueError("does not fit")
    return (height // patch_size) * (width // patch_size)


@wrong("patchify.count", "raised-error")
def misspelt(height, width, patch_size):
    return rows // patch_size  # noqa: F821


@unforeseen("patchify.count")
def rounded(height, width, patch_size):
    return round(height / patch_size) * round(width / patch_size)


@unforeseen("patchify.count")
def large_only(height, width, patch_size):
    if height > 5 and (height % patch_size or width % patch_size):
        raise ValueError
    return (height // patch_size) * (width // patch_size)


# ---- patchify


@right("patchify.patchify")
def by_einops(images, patch_size):
    return rearrange(images, "b c (r i) (q j) -> b (r q) (i j c)", i=patch_size, j=patch_size)


@right("patchify.patchify")
def by_slices(images, P):
    out = []
    for top in range(0, images.shape[2], P):
        for left in range(0, images.shape[3], P):
            out.append(images[:, :, top : top + P, left : left + P].permute(0, 2, 3, 1).reshape(len(images), -1))
    return torch.stack(out, 1)


@right("patchify.patchify")
def by_unfold(images, P):
    x = F.unfold(images, P, stride=P).mT
    return x.unflatten(2, (-1, P * P)).mT.flatten(2)


@right("patchify.patchify")
def by_tensor_unfold(images, P):
    x = images.unfold(2, P, P).unfold(3, P, P)  # (B, C, H/P, W/P, P, P)
    return x.permute(0, 2, 3, 4, 5, 1).flatten(3).flatten(1, 2)


@right("patchify.patchify")
def by_identity_convolution(images, P):
    C = images.shape[1]
    weight = torch.eye(P * P * C).reshape(-1, P, P, C).permute(0, 3, 1, 2)
    return F.conv2d(images, weight, stride=P).flatten(2).transpose(1, 2)


@right("patchify.patchify")
def by_chunks(images, P):
    rows = [row.split(P, dim=3) for row in images.split(P, dim=2)]
    return torch.stack([square.movedim(1, 3).flatten(1) for row in rows for square in row], dim=1)


def _ordered(order):
    def cut(images, P):
        B, C, H, W = images.shape
        x = images.reshape(B, C, H // P, P, W // P, P).permute(order)
        return x.reshape(B, (H // P) * (W // P), -1)

    return cut


for slug, order in (
    ("strips", (0, 2, 3, 4, 5, 1)),
    ("columns-first", (0, 4, 2, 3, 5, 1)),
    ("channels-first", (0, 2, 4, 1, 3, 5)),
    ("pixels-transposed", (0, 2, 4, 5, 3, 1)),
    ("image-transposed", (0, 4, 2, 5, 3, 1)),
):
    wrong("patchify.patchify", slug)(_ordered(order))


@wrong("patchify.patchify", "bare-reshape")
def view(images, P):
    return images.view(images.shape[0], -1, P * P * images.shape[1])


@wrong("patchify.patchify", "bare-reshape")
def unpermuted(images, P):
    B, C, H, W = images.shape
    x = images.reshape(B, C, H // P, P, W // P, P)
    return x.reshape(B, H * W // P**2, P * P * C)


@wrong("patchify.patchify", "strips")
def channels_last(images, P):
    return images.permute(0, 2, 3, 1).reshape(len(images), -1, P * P * images.shape[1])


@wrong("patchify.patchify", "split-swapped")
def split_swapped(images, P):
    B, C, H, W = images.shape
    x = images.reshape(B, C, P, H // P, P, W // P)
    return x.permute(0, 3, 5, 2, 4, 1).reshape(B, -1, P * P * C)


@wrong("patchify.patchify", "channels-first")
def unfold_as_it_is(images, P):
    return F.unfold(images, P, stride=P).transpose(1, 2)


@wrong("patchify.patchify", "patches-last")
def unfold_untransposed(images, P):
    return F.unfold(images, P, stride=P)


@wrong("patchify.patchify", "patches-last")
def right_but_last(images, P):
    return by_slices(images, P).mT


@wrong("patchify.patchify", "grid-kept")
def grid(images, P):
    return rearrange(images, "b c (r i) (q j) -> b r q (i j c)", i=P, j=P)


@wrong("patchify.patchify", "patch-kept")
def squares(images, P):
    return rearrange(images, "b c (r i) (q j) -> b (r q) i j c", i=P, j=P)


@wrong("patchify.patchify", "patch-kept")
def squares_of_channels(images, P):
    return rearrange(images, "b c (r i) (q j) -> b (r q) c i j", i=P, j=P)


@wrong("patchify.patchify", "patches-before-batch")
def stacked_in_front(images, P):
    return by_slices(images, P).transpose(0, 1)


@wrong("patchify.patchify", "batch-joined")
def one_axis(images, P):
    return by_slices(images, P).flatten(0, 1)


@wrong("patchify.patchify", "gradient-cut")
def detached(images, P):
    return by_slices(images.detach(), P)


@wrong("patchify.patchify", "input-changed")
def in_place(images, P):
    images -= images.mean()
    return by_slices(images, P)


@wrong("patchify.patchify", "hard-coded-size")
def written_side(images, P):
    return by_slices(images, Draw(0).sizes(5, 2, 7)[4])


@wrong("patchify.patchify", "numpy-array")
def as_numpy(images, P):
    return by_slices(images, P).detach().numpy()


@unforeseen("patchify.patchify")
def last_first(images, P):
    return by_slices(images, P).flip(1)


@unforeseen("patchify.patchify")
def rows_and_channels(images, P):
    return rearrange(images, "b c (r i) (q j) -> b (r q) (i c j)", i=P, j=P)


@unforeseen("patchify.patchify")
def first_only(images, P):
    return by_slices(images, P)[:, :1]


# ---- unpatchify


@right("patchify.unpatchify")
def back_by_einops(patches, P, size):
    return rearrange(patches, "b (r q) (i j c) -> b c (r i) (q j)", r=size[0] // P, i=P, j=P)


@right("patchify.unpatchify")
def back_by_slices(patches, P, image_size):
    H, W = image_size
    out = torch.zeros(len(patches), patches.shape[2] // P**2, H, W)
    index = 0
    for top in range(0, H, P):
        for left in range(0, W, P):
            out[:, :, top : top + P, left : left + P] = patches[:, index].unflatten(1, (P, P, -1)).permute(0, 3, 1, 2)
            index += 1
    return out


@right("patchify.unpatchify")
def back_by_fold(patches, P, image_size):
    x = patches.unflatten(2, (P * P, -1)).mT.flatten(2)  # (B, N, C*P*P)
    return F.fold(x.mT, image_size, P, stride=P)


@right("patchify.unpatchify")
def back_by_cat(patches, P, image_size):
    columns = image_size[1] // P
    squares = [one.unflatten(1, (P, P, -1)).movedim(3, 1) for one in patches.unbind(1)]
    rows = [torch.cat(squares[start : start + columns], dim=3) for start in range(0, len(squares), columns)]
    return torch.cat(rows, dim=2)


@right("patchify.unpatchify")
def back_by_pixel_shuffle(patches, P, image_size):
    rows = image_size[0] // P
    x = patches.unflatten(2, (P * P, -1)).mT.flatten(2)  # (B, N, C*P*P)
    return F.pixel_shuffle(x.mT.unflatten(2, (rows, -1)), P)


def _back(order, grid=lambda rows, columns: (rows, columns)):
    def back(patches, P, size):
        x = patches.reshape(len(patches), *grid(size[0] // P, size[1] // P), P, P, -1)
        return x.permute(order).reshape(len(patches), -1, *size)

    return back


for slug, order, grid_of in (
    ("not-interleaved", (0, 5, 1, 2, 3, 4), lambda r, c: (r, c)),
    ("cut-again", (0, 2, 4, 3, 5, 1), lambda r, c: (r, c)),
    ("join-swapped", (0, 5, 3, 1, 4, 2), lambda r, c: (r, c)),
    ("columns-first", (0, 5, 2, 3, 1, 4), lambda r, c: (c, r)),
    ("pixels-transposed", (0, 5, 1, 4, 2, 3), lambda r, c: (r, c)),
    ("grid-swapped", (0, 5, 1, 3, 2, 4), lambda r, c: (c, r)),
):
    wrong("patchify.unpatchify", slug)(_back(order, grid_of))


@wrong("patchify.unpatchify", "bare-reshape")
def back_at_once(patches, P, size):
    return patches.reshape(len(patches), -1, *size)


@wrong("patchify.unpatchify", "channels-first")
def fold_as_it_is(patches, P, size):
    return F.fold(patches.mT, size, P, stride=P)


@wrong("patchify.unpatchify", "channels-last")
def back_channels_last(patches, P, size):
    return back_by_fold(patches, P, size).permute(0, 2, 3, 1)


@wrong("patchify.unpatchify", "image-transposed")
def back_transposed(patches, P, size):
    return back_by_fold(patches, P, size).mT


@wrong("patchify.unpatchify", "size-swapped")
def width_and_height(patches, P, size):
    W, H = size
    return back_by_fold(patches, P, (H, W))


@wrong("patchify.unpatchify", "square-grid")
def root_of_n(patches, P, size):
    rows = columns = int(patches.shape[1] ** 0.5)
    return back_by_fold(patches[:, : rows * columns], P, (rows * P, columns * P))


@wrong("patchify.unpatchify", "raised-error")
def root_of_n_reshaped(patches, P, size):
    side = int(patches.shape[1] ** 0.5)
    return patches.reshape(len(patches), side, side, P, P, -1).permute(0, 5, 1, 3, 2, 4).flatten(2, 3).flatten(3, 4)


@wrong("patchify.unpatchify", "gradient-cut")
def back_detached(patches, P, size):
    return back_by_slices(patches.detach(), P, size)


@wrong("patchify.unpatchify", "hard-coded-size")
def back_written_side(patches, P, size):
    return back_by_fold(patches, Draw(0).sizes(5, 2, 7)[4], size)


@wrong("patchify.unpatchify", "raised-error")
def three_channels(patches, P, size):
    return rearrange(patches, "b (r q) (i j c) -> b c (r i) (q j)", r=size[0] // P, i=P, j=P, c=3)


@unforeseen("patchify.unpatchify")
def upside_down(patches, P, size):
    return back_by_fold(patches, P, size).flip(2)


@unforeseen("patchify.unpatchify")
def averaged(patches, P, size):
    return back_by_fold(patches, P, size).mean(1, keepdim=True)


# ---- pixel

RIGHT_PIXEL = {
    "patch": 22,
    "place": 89,
    "place_with_unfold": 157,
    "tokens_changed": 9,
    "times_the_pairs": 81,
    "times_the_products": 1,
}


@right("patchify.pixel")
def as_numbers():
    return RIGHT_PIXEL


@right("patchify.pixel")
def by_arithmetic():
    (top, i), (left, j) = divmod(19, 8), divmod(37, 8)
    return dict(
        patch=top * (72 // 8) + left,
        place=(i * 8 + j) * 3 + 2,
        place_with_unfold=(2 * 8 + i) * 8 + j,
        tokens_changed=len(range(1, 4)) * len(range(3, 6)),
        times_the_pairs=(24 // 8) ** 4,
        times_the_products=1,
    )


@right("patchify.pixel")
def by_marking():
    image = torch.zeros(1, 3, 48, 72)
    image[0, 2, 19, 37] = 1
    patch, place = package.patchify(image, 8)[0].nonzero()[0]
    unfolded = F.unfold(image, 8, stride=8)[0].nonzero()[0, 0]
    changed = (F.conv2d(image, torch.ones(1, 3, 24, 24), stride=8, padding=8) != 0).sum()
    return {
        "patch": patch,
        "place": place,
        "place_with_unfold": unfolded,
        "tokens_changed": changed,
        "times_the_pairs": 54**2 // 6**2,
        "times_the_products": (54 * 192) // (6 * 1728),
    }


for slug, changes in (
    ("counted-from-one", {"patch": 23}),
    ("columns-first", {"patch": 4 * 6 + 2}),
    ("rows-for-columns", {"patch": 2 * 6 + 4}),
    ("pixels-counted", {"patch": 19 * 72 + 37}),
    ("counted-from-one", {"place": 90}),
    ("channels-first", {"place": 157}),
    ("channels-forgotten", {"place": 29}),
    ("pixels-transposed", {"place": (5 * 8 + 3) * 3 + 2}),
    ("counted-from-one", {"place_with_unfold": 158}),
    ("channels-last", {"place_with_unfold": 89}),
    ("pixels-transposed", {"place_with_unfold": 2 * 64 + 5 * 8 + 3}),
    ("overlap-forgotten", {"tokens_changed": 1}),
    ("one-direction-only", {"tokens_changed": 3}),
    ("windows-twice-the-step", {"tokens_changed": 4}),
    ("directions-added", {"tokens_changed": 6}),
    ("all-tokens", {"tokens_changed": 54}),
    ("side-only", {"times_the_pairs": 3}),
    ("patches-not-pairs", {"times_the_pairs": 9}),
    ("wrong-power", {"times_the_pairs": 27}),
    ("factors-added", {"times_the_pairs": 12}),
    ("side-only", {"times_the_products": 3}),
    ("length-forgotten", {"times_the_products": 9}),
    ("number-forgotten", {"times_the_products": 1 / 9}),
    ("pairs-not-products", {"times_the_products": 81}),
    ("float-count", {"times_the_pairs": 3.0**4}),
):
    wrong("patchify.pixel", slug)(lambda changes=changes: RIGHT_PIXEL | changes)
wrong("patchify.pixel", "wrong-keys")(lambda: {"patch": 22})
unforeseen("patchify.pixel")(lambda: RIGHT_PIXEL | {"patch": 21})


# ---- embedding


class Variant(nn.Module):
    """A right one with holes for mistakes."""

    bias = True

    def __init__(self, patch_size, in_channels, hidden_dim):
        super().__init__()
        self.P, self.C, self.D = patch_size, in_channels, hidden_dim
        self.make()

    def make(self):
        self.linear = nn.Linear(self.P * self.P * self.C, self.D, bias=self.bias)

    def cut(self, images):
        return package.patchify(images, self.P)

    def forward(self, images):
        return self.linear(self.cut(images))


right("patchify.embedding")(package.PatchEmbedding)
right("patchify.embedding")(Variant)


@right("patchify.embedding")
class WithoutBias(Variant):
    bias = False


@right("patchify.embedding")
class OwnOrder(Variant):
    def cut(self, images):
        P = self.P
        return rearrange(images, "b c (r i) (q j) -> b (r q) (j c i)", i=P, j=P)


@right("patchify.embedding")
class Unfolded(Variant):
    def cut(self, images):
        assert images.shape[2] % self.P == 0
        assert images.shape[3] % self.P == 0
        return F.unfold(images, self.P, stride=self.P).mT


@right("patchify.embedding")
class Raw(nn.Module):
    def __init__(self, P, C, D):
        super().__init__()
        self.E = nn.Parameter(torch.zeros(C, P, P, D))

    def forward(self, images):
        P = self.E.shape[1]
        if any(size % P for size in images.shape[2:]):
            raise ValueError("does not fit")
        squares = images.unfold(2, P, P).unfold(3, P, P)  # (B, C, H/P, W/P, P, P)
        return torch.einsum("bcrqij,cijd->brqd", squares, self.E).flatten(1, 2)


@right("patchify.embedding")
class Loops(nn.Module):
    def __init__(self, P, C, D):
        super().__init__()
        self.P, self.E, self.b = P, nn.Parameter(torch.randn(D, P * P * C)), nn.Parameter(torch.zeros(D))

    def forward(self, images):
        H, W = images.shape[2:]
        tokens = []
        for top in range(0, H, self.P):
            for left in range(0, W, self.P):
                square = images[:, :, top : top + self.P, left : left + self.P]
                tokens.append(square.flatten(1) @ self.E.T + self.b)
        return torch.stack(tokens, dim=1)


@right("patchify.embedding")
def from_sequential(P, C, D):
    return nn.Sequential(Rearrange("b c (r i) (q j) -> b (r q) (i j c)", i=P, j=P), nn.Linear(P * P * C, D))


@right("patchify.embedding")
class PaddedConvolution(nn.Module):
    def __init__(self, P, C, D):
        super().__init__()
        self.P, self.conv = P, nn.LazyConv2d(D, P, P)

    def forward(self, images):
        _fitting(*images.shape[2:], self.P)
        return rearrange(self.conv(images), "b d r q -> b (r q) d")


class Convolved(Variant):
    """A convolution with holes for mistakes."""

    window, step, padding = staticmethod(lambda P: P), staticmethod(lambda P: P), staticmethod(lambda P: 0)
    refuses = True

    def make(self):
        P = self.P
        self.conv = nn.Conv2d(self.C, self.D, self.window(P), self.step(P), self.padding(P), bias=self.bias)

    def tokens(self, picture):
        return picture.flatten(2).transpose(1, 2)

    def forward(self, images):
        if self.refuses:
            _fitting(*images.shape[2:], self.P)
        return self.tokens(self.conv(images))


right("patchify.embedding")(Convolved)


@wrong("patchify.embedding", "pixels-dropped")
class Quiet(Convolved):
    refuses = False


@wrong("patchify.embedding", "pixels-dropped")
class QuietInOneDirection(Convolved):
    refuses = False

    def forward(self, images):
        _fitting(images.shape[2], self.P, self.P)
        return super().forward(images)


@wrong("patchify.embedding", "bare-reshape")
class Reshaped(Convolved):
    def tokens(self, picture):
        return picture.reshape(len(picture), -1, self.D)


@wrong("patchify.embedding", "stride-missing")
class NoStride(Convolved):
    step = staticmethod(lambda P: 1)


@wrong("patchify.embedding", "windows-overlap")
class SmallStep(Convolved):  # as many tokens as there are patches in the first images that are tried
    step = staticmethod(lambda P: P - 1)


@wrong("patchify.embedding", "windows-overlap")
class HalfStep(Convolved):
    step = staticmethod(lambda P: P // 2)


@wrong("patchify.embedding", "window-not-patch")
class Overlapping(Convolved):
    window, padding = staticmethod(lambda P: 3 * P), staticmethod(lambda P: P)


@wrong("patchify.embedding", "window-not-patch")
class Wide(Convolved):
    window, padding = staticmethod(lambda P: 2 * P), staticmethod(lambda P: P // 2)


@wrong("patchify.embedding", "picture-kept")
class Picture(Convolved):
    def tokens(self, picture):
        return picture


@wrong("patchify.embedding", "grid-kept")
class Grid(Convolved):
    def tokens(self, picture):
        return picture.permute(0, 2, 3, 1)


@wrong("patchify.embedding", "tokens-last")
class NotTransposed(Convolved):
    def tokens(self, picture):
        return picture.flatten(2)


@wrong("patchify.embedding", "tokens-before-batch")
class TokensFirst(Convolved):
    def tokens(self, picture):
        return picture.flatten(2).permute(2, 0, 1)


@wrong("patchify.embedding", "batch-joined")
class OneAxis(Convolved):
    def tokens(self, picture):
        return picture.permute(0, 2, 3, 1).reshape(-1, self.D)


@wrong("patchify.embedding", "columns-first")
class ColumnByColumn(Convolved):
    def tokens(self, picture):
        return picture.transpose(2, 3).flatten(2).transpose(1, 2)


@wrong("patchify.embedding", "batch-mates-matter")
class BatchMixed(Convolved):
    def tokens(self, picture):
        return picture.flatten(2).permute(2, 0, 1).reshape(len(picture), -1, self.D)


@wrong("patchify.embedding", "relu-added")
class Relu(Convolved):
    def tokens(self, picture):
        return super().tokens(picture).relu()


@wrong("patchify.embedding", "relu-added")
class ReluWithoutBias(Relu):
    bias = False


@wrong("patchify.embedding", "not-linear")
class Gelu(Convolved):
    def tokens(self, picture):
        return F.gelu(super().tokens(picture))


@wrong("patchify.embedding", "not-linear")
class Normed(Convolved):
    def tokens(self, picture):
        return F.layer_norm(super().tokens(picture), (self.D,))


@wrong("patchify.embedding", "norms-added")
class DualNorm(Variant):
    def make(self):
        super().make()
        self.before, self.after = nn.LayerNorm(self.P * self.P * self.C), nn.LayerNorm(self.D)

    def forward(self, images):
        return self.after(self.linear(self.before(self.cut(images))))


@wrong("patchify.embedding", "norms-added")
class NormAfter(Variant):
    def make(self):
        super().make()
        self.after = nn.LayerNorm(self.D)

    def forward(self, images):
        return self.after(super().forward(images))


@wrong("patchify.embedding", "patches-by-reshape")
class CutByReshape(Variant):
    def cut(self, images):
        _fitting(*images.shape[2:], self.P)
        return images.reshape(len(images), -1, self.P**2 * self.C)


@wrong("patchify.embedding", "strips")
class CutChannelsLast(Variant):
    def cut(self, images):
        _fitting(*images.shape[2:], self.P)
        return images.permute(0, 2, 3, 1).reshape(len(images), -1, self.P**2 * self.C)


@wrong("patchify.embedding", "strips")
class Strips(Variant):
    def cut(self, images):
        return _ordered((0, 2, 3, 4, 5, 1))(images, self.P)


@wrong("patchify.embedding", "split-swapped")
class SplitSwapped(Variant):
    def cut(self, images):
        return split_swapped(images, self.P)


@wrong("patchify.embedding", "not-projected")
class NotProjected(Variant):
    def forward(self, images):
        return self.cut(images)


@wrong("patchify.embedding", "class-token-added")
class WithClassToken(Convolved):
    def tokens(self, picture):
        tokens = super().tokens(picture)
        return torch.cat([torch.zeros_like(tokens[:, :1]), tokens], dim=1)


@wrong("patchify.embedding", "one-channel")
class Grey(Variant):
    def make(self):
        self.linear = nn.Linear(self.P * self.P, self.D)

    def cut(self, images):
        return package.patchify(images.mean(1, keepdim=True), self.P)


@wrong("patchify.embedding", "no-parameters")
class PlainList(Variant):
    def make(self):
        self.layers = [nn.Linear(self.P * self.P * self.C, self.D)]

    def forward(self, images):
        return self.layers[0](self.cut(images))


@wrong("patchify.embedding", "no-parameters")
class PlainTensor(Variant):
    def make(self):
        self.E = torch.randn(self.P * self.P * self.C, self.D)

    def forward(self, images):
        return self.cut(images) @ self.E


@wrong("patchify.embedding", "no-parameters")
class MadeInForward(Variant):
    def make(self):
        pass

    def forward(self, images):
        return nn.Linear(self.P * self.P * self.C, self.D)(self.cut(images))


@wrong("patchify.embedding", "no-matrix")
class OnlyBias(PlainTensor):
    def make(self):
        super().make()
        self.b = nn.Parameter(torch.zeros(self.D))

    def forward(self, images):
        return super().forward(images) + self.b


@wrong("patchify.embedding", "weights-not-shared")
class OneMatrixEach(Variant):
    def make(self):
        self.layers = nn.ModuleList()

    def forward(self, images):
        patches = self.cut(images)
        while len(self.layers) < patches.shape[1]:
            self.layers.append(nn.Linear(self.P * self.P * self.C, self.D))
        return torch.stack([layer(patches[:, n]) for n, layer in enumerate(self.layers)], dim=1)


@wrong("patchify.embedding", "one-matrix-for-the-image")
class WholeImage(Variant):
    def make(self):
        self.linear = None

    def forward(self, images):
        patches = self.cut(images)
        if self.linear is None:
            self.linear = nn.Linear(images[0].numel(), patches.shape[1] * self.D)
        return self.linear(images.flatten(1)).unflatten(1, (-1, self.D))


@wrong("patchify.embedding", "hidden-width-checked")
class WidthChecked(Convolved):
    def make(self):
        if self.D % self.P:
            raise ValueError("the patch size must divide the image size")
        super().make()


@wrong("patchify.embedding", "hard-coded-size")
class FirstSizeOnly(Convolved):
    seen = None

    def forward(self, images):
        self.seen = self.seen or images.shape[2:]
        assert images.shape[2:] == self.seen
        return super().forward(images)


@wrong("patchify.embedding", "random-result")
class Dropped(Convolved):
    def tokens(self, picture):
        return F.dropout(super().tokens(picture), 0.5)


@wrong("patchify.embedding", "gradient-cut")
class NoGrad(Convolved):
    def tokens(self, picture):
        return super().tokens(picture).detach()


@wrong("patchify.embedding", "pixels-ignored")
class Cropped(Convolved):
    def forward(self, images):
        images = images.clone()
        images[:, :, -1] = 0
        return super().forward(images)


@wrong("patchify.embedding", "patches-not-alike")
class WithPositions(Convolved):
    def tokens(self, picture):
        tokens = super().tokens(picture)
        return tokens + torch.arange(tokens.shape[1])[:, None]


@wrong("patchify.embedding", "patches-not-alike")
class GrowingWeights(Convolved):
    bias = False

    def tokens(self, picture):
        tokens = super().tokens(picture)
        return tokens * (1 + torch.arange(tokens.shape[1]))[:, None]


@wrong("patchify.embedding", "no-super-init")
class NoSuper(nn.Module):
    def __init__(self, P, C, D):
        self.conv = nn.Conv2d(C, D, P, P)


@wrong("patchify.embedding", "unused-parameters")
class Unused(Convolved):
    def make(self):
        super().make()
        self.bias_of_mine = self.conv.bias
        self.conv = nn.Conv2d(self.C, self.D, self.P, self.P, bias=False)


@unforeseen("patchify.embedding")
class Reversed(Convolved):
    def tokens(self, picture):
        return super().tokens(picture).flip(1)


@unforeseen("patchify.embedding")
class Averaged(Convolved):
    def tokens(self, picture):
        tokens = super().tokens(picture)
        return tokens + tokens.mean(1, keepdim=True)


@unforeseen("patchify.embedding")
class Padded(Convolved):
    refuses = False

    def forward(self, images):
        H, W = images.shape[2:]
        return super().forward(F.pad(images, (0, -W % self.P, 0, -H % self.P)))


@unforeseen("patchify.embedding")
class TwoLayers(Convolved):
    def make(self):
        super().make()
        self.more = nn.Linear(self.D, self.D)

    def tokens(self, picture):
        return self.more(super().tokens(picture))


@unforeseen("patchify.embedding")
class Pooled(Convolved):
    def tokens(self, picture):
        return super().tokens(picture).mean(1)
