"""Answers to the exercises of chapter 10."""

import copy
import math

import numpy as np
import torch
import torch.nn.functional as F
from einops import rearrange, repeat
from torch import nn

from answers import right, unforeseen, wrong

# ---- gradient


@right("further.gradient")
def sums_over_count(means, counts):
    return (means * counts[:, None]).sum(dim=0) / counts.sum()


@right("further.gradient")
def as_a_product(means, counts):
    return (counts / counts.sum()) @ means


@right("further.gradient")
def image_by_image(means, counts):
    return means.repeat_interleave(counts, dim=0).mean(dim=0)


@right("further.gradient")
def in_a_loop(means, counts):
    total, images = torch.zeros_like(means[0]), 0
    for mean, count in zip(means, counts, strict=True):
        total = total + mean * count
        images += count
    return total / images


@right("further.gradient")
def einsum(means, counts):
    return torch.einsum("rd,r->d", means, counts.float()) / counts.sum()


@right("further.gradient")
def running(means, counts):
    mean, images = means[0], counts[0]
    for other, count in zip(means[1:], counts[1:], strict=True):
        images = images + count
        mean = mean + (other - mean) * count / images
    return mean


def _gradient(mistake, function, name):
    function.__name__ = name
    wrong("further.gradient", mistake)(function)


_gradient("mean-of-means", lambda means, counts: means.mean(0), "average")
_gradient("sum-of-means", lambda means, counts: means.sum(0), "all_reduce_alone")
_gradient("never-divided", lambda means, counts: counts.float() @ means, "summed")
_gradient("divided-by-processes", lambda means, counts: counts.float() @ means / len(means), "by_world")
_gradient("divided-twice", lambda means, counts: (counts / counts.sum()) @ means / len(means), "ddp_on_top")
_gradient("means-taken-for-sums", lambda means, counts: means.sum(0) / counts.sum(), "means_as_sums")
_gradient("divided-by-own-count", lambda means, counts: (means.T / counts).sum(1), "divided_again")
_gradient("divided-by-own-count", lambda means, counts: (means.T / counts).mean(1), "divided_again_and_averaged")
_gradient("softmax-of-counts", lambda means, counts: counts.float().softmax(0) @ means, "soft")
_gradient("largest-share-alone", lambda means, counts: means[counts.argmax()], "largest")
_gradient("first-process-alone", lambda means, counts: means[0], "main_process")
_gradient("wrong-axis", lambda means, counts: (means * counts[:, None]).sum(-1) / counts.sum(), "other_axis")
_gradient("axis-kept", lambda means, counts: (counts / counts.sum())[None] @ means, "kept")
_gradient("raised-error", lambda means, counts: (means * counts).sum(0) / counts.sum(), "no_axis_added")
_gradient("gradient-cut", lambda means, counts: ((counts / counts.sum()) @ means).detach(), "detached")
_gradient("returned-nothing", lambda means, counts: None, "nothing")


@unforeseen("further.gradient")
def the_median(means, counts):
    return means.median(dim=0).values


# ---- share


@right("further.share")
def strided(order, rank, world, batch_size):
    return [batch[rank::world] for batch in order.split(batch_size)]


@right("further.share")
def contiguous(order, rank, world, batch_size):
    return [batch.tensor_split(world)[rank] for batch in order.split(batch_size)]


@right("further.share")
def from_the_other_end(order, rank, world, batch_size):
    return [torch.tensor(batch.tolist()[::-1][rank::world]) for batch in order.split(batch_size)]


@right("further.share")
def with_lists(order, rank, world, batch_size):
    images = order.tolist()
    return [images[i : i + batch_size][rank::world] for i in range(0, len(images), batch_size)]


@right("further.share")
def with_numpy(order, rank, world, batch_size):
    cuts = range(batch_size, len(order), batch_size)
    return tuple(torch.from_numpy(np.array_split(b, world)[rank]) for b in np.split(order.numpy(), list(cuts)))


@wrong("further.share", "all-the-same")
def rank_forgotten(order, rank, world, batch_size):
    return list(order.split(batch_size))


@wrong("further.share", "all-the-same")
def first_share(order, rank, world, batch_size):
    return [batch[::world] for batch in order.split(batch_size)]


@wrong("further.share", "whole-batches-in-turn")
def batches_in_turn(order, rank, world, batch_size):
    return list(order.split(batch_size))[rank::world]


@wrong("further.share", "blocks-of-the-epoch")
def blocks(order, rank, world, batch_size):
    return list(order.tensor_split(world)[rank].split(batch_size))


@wrong("further.share", "blocks-of-the-epoch")
def blocks_in_small_batches(order, rank, world, batch_size):
    return list(order.tensor_split(world)[rank].split(max(1, batch_size // world)))


@wrong("further.share", "cut-after-sharing")
def shared_first(order, rank, world, batch_size):
    return list(order[rank::world].split(batch_size // world))


@wrong("further.share", "cut-after-sharing")
def shared_first_large(order, rank, world, batch_size):
    return list(order[rank::world].split(batch_size))


@wrong("further.share", "last-batch-dropped")
def whole_batches_alone(order, rank, world, batch_size):
    count = len(order) // batch_size
    return [batch[rank::world] for batch in order[: count * batch_size].split(batch_size)]


@wrong("further.share", "seen-twice")
def filled_up(order, rank, world, batch_size):
    missing = -len(order) % batch_size
    return strided(torch.cat([order, order[:missing]]), rank, world, batch_size)


@wrong("further.share", "order-ignored")
def in_the_order_of_the_data(order, rank, world, batch_size):
    return strided(torch.arange(len(order)), rank, world, batch_size)


@wrong("further.share", "left-out")
def equal_shares(order, rank, world, batch_size):
    return [batch[: len(batch) // world * world][rank::world] for batch in order.split(batch_size)]


@wrong("further.share", "uneven")
def rest_to_the_last(order, rank, world, batch_size):
    def bounds(batch):
        size = max(1, len(batch) // (world + 1))
        return batch[rank * size : (rank + 1) * size if rank < world - 1 else len(batch)]

    return [bounds(batch) for batch in order.split(batch_size)]


@wrong("further.share", "number-of-batches")
def one_long_share(order, rank, world, batch_size):
    return [torch.cat(strided(order, rank, world, batch_size)), *[order[:0]] * 8]


@wrong("further.share", "wrong-type")
def one_tensor(order, rank, world, batch_size):
    return torch.cat(strided(order, rank, world, batch_size))


@wrong("further.share", "wrong-type")
def flat(order, rank, world, batch_size):
    return torch.cat(strided(order, rank, world, batch_size)).tolist()


@wrong("further.share", "returned-nothing")
def forgot(order, rank, world, batch_size):
    strided(order, rank, world, batch_size)


@wrong("further.share", "random-result")
def shuffled_anew(order, rank, world, batch_size):
    return [batch[torch.randperm(len(batch))] for batch in strided(order, rank, world, batch_size)]


@unforeseen("further.share")
def batches_rolled_within_pairs(order, rank, world, batch_size):
    # Another way to cut: the first two batches have exchanged an image.
    changed = order.clone()
    changed[[0, batch_size]] = order[[batch_size, 0]]
    return strided(changed, rank, world, batch_size)


# ---- parts


@right("further.parts")
def summed_and_divided(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(images)
        loss.backward()
        total += loss.item()
    optimiser.step()
    return total


@right("further.parts")
def means_by_share(model, images, labels, optimiser, parts):
    losses = []
    for x, y in zip(images.tensor_split(parts), labels.tensor_split(parts), strict=True):
        loss = nn.CrossEntropyLoss()(model(x), y) * (len(y) / len(labels))
        loss.backward()
        losses.append(loss.detach())
    optimiser.step()
    optimiser.zero_grad()
    return torch.stack(losses).sum()


@right("further.parts")
def gradients_by_hand(model, images, labels, optimiser, parts):
    parameters = list(model.parameters())
    sums, total = [torch.zeros_like(p) for p in parameters], 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.nll_loss(model(x).log_softmax(dim=-1), y, reduction="sum")
        sums = [s + g for s, g in zip(sums, torch.autograd.grad(loss, parameters), strict=True)]
        total += loss.item()
    for p, s in zip(parameters, sums, strict=True):
        p.grad = s / len(images)
    optimiser.step()
    return total / len(images)


@right("further.parts")
def one_at_a_time(model, images, labels, optimiser, parts):
    model.zero_grad()
    total = 0.0
    for x, y in zip(images.split(1), labels.split(1), strict=True):
        loss = F.cross_entropy(model(x), y) / len(images)
        loss.backward()
        total += float(loss)
    optimiser.step()
    return total


class Parts:
    """A step in parts, with things that can be done wrongly."""

    def __init__(self, name, **changes):
        self.__name__ = name
        self.do = dict(clear="once", move="once", scale="share", loss=None, drop=False) | changes

    def __call__(self, model, images, labels, optimiser, parts):
        do, losses = self.do, []
        pieces = list(zip(images.chunk(parts), labels.chunk(parts), strict=True))
        if do["drop"]:
            pieces = pieces[:-1]
        if do["clear"] == "once":
            optimiser.zero_grad()
        for x, y in pieces:
            if do["clear"] == "each":
                optimiser.zero_grad()
            mean = F.cross_entropy(model(x), y)
            scale = {
                "share": len(x) / len(images),
                "none": 1.0,
                "equal": 1 / parts,
                "sum": len(x),
                "by parts": len(x) / parts,
                "doubled": 2 * len(x) / len(images),
            }[do["scale"]]
            (mean * scale).backward()
            losses.append(mean.item() * len(x) / len(images))
            if do["move"] == "each":
                optimiser.step()
        if do["move"] == "once":
            optimiser.step()
        return do["loss"](losses) if do["loss"] else sum(losses)


for slug, changes in (
    ("not-scaled", dict(scale="none")),
    ("mean-of-means", dict(scale="equal")),
    ("loss-summed", dict(scale="sum")),
    ("divided-by-parts", dict(scale="by parts")),
    ("cleared-each-part", dict(clear="each")),
    ("cleared-each-part-and-not-scaled", dict(clear="each", scale="none")),
    ("cleared-each-part-and-mean-of-means", dict(clear="each", scale="equal")),
    ("never-cleared", dict(clear="never")),
    ("never-cleared", dict(clear="never", scale="equal")),
    ("step-each-part", dict(move="each")),
    ("step-each-part", dict(move="each", clear="each", scale="none")),
    ("no-step", dict(move="never")),
    ("images-left-out", dict(drop=True)),
    ("wrong-loss", dict(loss=lambda losses: losses[-1])),
    ("returned-nothing", dict(loss=lambda losses: None)),
    ("wrong-values", dict(loss=lambda losses: losses[0])),
    ("wrong-type", dict(loss=lambda losses: losses)),
):
    wrong("further.parts", slug)(Parts(slug, **changes))


@wrong("further.parts", "not-in-parts")
def all_at_once(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimiser.step()
    return loss.item()


@wrong("further.parts", "model-not-used")
def another_model(model, images, labels, optimiser, parts):
    return summed_and_divided(nn.Linear(images.shape[1], 9), images, labels, optimiser, parts)


@wrong("further.parts", "more-than-once")
def looked_at_again(model, images, labels, optimiser, parts):
    total = summed_and_divided(model, images, labels, optimiser, parts)
    for x in images.chunk(parts):
        model(x)
    return total


@wrong("further.parts", "step-without-gradients")
def cleared_before_the_step(model, images, labels, optimiser, parts):
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    optimiser.zero_grad()
    optimiser.step()
    return loss.item()


@wrong("further.parts", "parts-too-long")
def two_halves(model, images, labels, optimiser, parts):
    return summed_and_divided(model, images, labels, optimiser, 2)


@wrong("further.parts", "uphill")
def sign_lost(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = -F.cross_entropy(model(x), y, reduction="sum") / len(images)
        loss.backward()
    optimiser.step()
    return loss.item()


unforeseen("further.parts")(Parts("twice_the_gradient", scale="doubled"))


@unforeseen("further.parts")
def clipped(model, images, labels, optimiser, parts):
    weights = copy.deepcopy(model.state_dict())
    total = summed_and_divided(model, images, labels, optimiser, parts)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(weights[name] + (p - weights[name]).clamp(-0.01, 0.01))
    return total


# ---- rotary


def _line(x, positions, width=None):
    d = x.shape[-1]
    angles = positions[:, None] * 100.0 ** (-torch.arange(0, d, 2) / (width or d))
    a, b = x[..., 0::2], x[..., 1::2]
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2)


def _grid(x, rows, columns):
    first, last = x.chunk(2, dim=-1)
    return torch.cat([_line(first, rows), _line(last, columns)], dim=-1)


@right("further.rotary")
def counted(x, grid):
    place = torch.arange(grid[0] * grid[1])
    return _grid(x, place // grid[1], place % grid[1])


@right("further.rotary")
def mesh(x, grid):
    rows, columns = torch.meshgrid(torch.arange(grid[0]), torch.arange(grid[1]), indexing="ij")
    return _grid(x, rows.flatten(), columns.flatten())


@right("further.rotary")
def repeated(x, grid):
    rows = repeat(torch.arange(grid[0]), "r -> (r c)", c=grid[1])
    columns = repeat(torch.arange(grid[1]), "c -> (r c)", r=grid[0])
    return _grid(x, rows, columns)


@right("further.rotary")
def complex_numbers(x, grid):
    quarter = x.shape[-1] // 4
    rates = 100.0 ** (-torch.arange(quarter) / quarter)
    place = torch.arange(x.shape[-2])
    angles = torch.cat([(place // grid[1])[:, None] * rates, (place % grid[1])[:, None] * rates], dim=-1)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


@right("further.rotary")
def on_a_real_grid(x, grid):
    x = rearrange(x, "b h (r c) d -> b h r c d", r=grid[0])
    first, last = x.chunk(2, dim=-1)
    first = _line(first.transpose(2, 3), torch.arange(grid[0])).transpose(2, 3)
    return torch.cat([first, _line(last, torch.arange(grid[1]))], dim=-1).flatten(2, 3)


@right("further.rotary")
def patch_by_patch(x, grid):
    out = torch.empty_like(x)
    half = x.shape[-1] // 2
    for n in range(x.shape[-2]):
        for place, start in zip(divmod(n, grid[1]), (0, half), strict=True):
            for i in range(0, half, 2):
                angle = place * 100 ** (-i / half)
                a, b = x[..., n, start + i], x[..., n, start + i + 1]
                out[..., n, start + i] = a * math.cos(angle) - b * math.sin(angle)
                out[..., n, start + i + 1] = a * math.sin(angle) + b * math.cos(angle)
    return out


def _rotary(mistake, function, name):
    function.__name__ = name
    wrong("further.rotary", mistake)(function)


def _n(x):
    return torch.arange(x.shape[-2])


_rotary("row-and-column-swapped", lambda x, g: _grid(x, _n(x) % g[1], _n(x) // g[1]), "swapped")
_rotary("on-a-line", lambda x, g: _line(x, _n(x)), "one_line")
_rotary("both-halves-on-a-line", lambda x, g: _grid(x, _n(x), _n(x)), "two_lines")
_rotary("row-alone", lambda x, g: _grid(x, _n(x) // g[1], _n(x) // g[1]), "rows")
_rotary("column-alone", lambda x, g: _grid(x, _n(x) % g[1], _n(x) % g[1]), "columns")
_rotary("row-on-everything", lambda x, g: _line(x, _n(x) // g[1]), "whole_by_row")
_rotary("column-on-everything", lambda x, g: _line(x, _n(x) % g[1]), "whole_by_column")
_rotary("turned-twice", lambda x, g: _line(_line(x, _n(x) // g[1]), _n(x) % g[1]), "both_on_all")
_rotary("turned-twice", lambda x, g: _line(x, _n(x) // g[1] + _n(x) % g[1]), "row_plus_column")
_rotary("down-the-columns", lambda x, g: _grid(x, _n(x) % g[0], _n(x) // g[0]), "by_columns")
_rotary("divided-by-rows", lambda x, g: _grid(x, _n(x) // g[0], _n(x) % g[0]), "wrong_divisor")
_rotary("counted-from-one", lambda x, g: _grid(x, _n(x) // g[1] + 1, _n(x) % g[1] + 1), "from_one")
_rotary("shares-of-the-grid", lambda x, g: _grid(x, _n(x) // g[1] / g[0], _n(x) % g[1] / g[1]), "shares")
_rotary("halves-exchanged", lambda x, g: torch.cat(counted(x, g).chunk(2, -1)[::-1], -1), "exchanged")
_rotary("turned-backwards", lambda x, g: _grid(x, -(_n(x) // g[1]), -(_n(x) % g[1])), "backwards")
_rotary("not-turned", lambda x, g: x.clone(), "as_it_was")
_rotary("gradient-cut", lambda x, g: counted(x, g).detach(), "detached")
_rotary("wrong-shape", lambda x, g: counted(x, g).chunk(2, -1)[0], "half")
_rotary("input-changed", lambda x, g: x.mul_(2), "in_place")


@wrong("further.rotary", "every-second-number")
def alternating(x, grid):
    rows, columns = _line(x[..., ::2], _n(x) // grid[1]), _line(x[..., 1::2], _n(x) % grid[1])
    return torch.stack([rows, columns], dim=-1).flatten(-2)


@wrong("further.rotary", "rates-of-the-whole")
def rates_of_all(x, grid):
    first, last = x.chunk(2, dim=-1)
    width = x.shape[-1]
    return torch.cat([_line(first, _n(x) // grid[1], width), _line(last, _n(x) % grid[1], width)], dim=-1)


@unforeseen("further.rotary")
def in_degrees(x, grid):
    return _grid(x, _n(x) // grid[1] * math.pi / 180, _n(x) % grid[1] * math.pi / 180)


@unforeseen("further.rotary")
def added(x, grid):
    return x + (_n(x) // grid[1])[:, None]
