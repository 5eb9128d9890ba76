"""Checks of chapter 10: shares of a batch, gradients put together, a step in parts, rotary positions on a grid."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools import Mistake, call, describe, equal, same_function


@exercise("One gradient from many", difficulty=1, minutes=5)
def gradient(answer, draw):
    """`answer(means, counts)`: (R, D), (R,) -> (D,)."""
    draws = []
    for _ in range(2):
        processes, width = draw.sizes(2, low=3)
        counts = torch.tensor(draw.sizes(processes, low=1, high=20))
        draws.append((draw.normal(processes, width), counts))
    same_function(answer, _whole, draws, _GRADIENTS, axes="(D,)")


def _whole(means: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    return (means * counts[:, None]).sum(dim=0) / counts.sum()


_GRADIENTS = [
    Mistake(
        "mean-of-means",
        "This is the mean of the means: an image in a small share weighs more than one in a large share.",
        lambda means, counts: means.mean(dim=0),
    ),
    Mistake("sum-of-means", "The means are added, and nothing is divided.", lambda means, counts: means.sum(dim=0)),
    Mistake(
        "never-divided",
        "This is the sum over all images: it is never divided by their number.",
        lambda means, counts: (means * counts[:, None]).sum(dim=0),
    ),
    Mistake(
        "divided-by-processes",
        "The sum over all images is divided by the number of processes.",
        lambda means, counts: (means * counts[:, None]).mean(dim=0),
    ),
    Mistake(
        "divided-twice",
        "The gradient is divided by the number of processes as well: it is too short by that factor.",
        lambda means, counts: _whole(means, counts) / len(counts),
    ),
    Mistake(
        "means-taken-for-sums",
        "The means are added and divided by the number of images, as if they were sums.",
        lambda means, counts: means.sum(dim=0) / counts.sum(),
    ),
    Mistake(
        "divided-by-own-count",
        "Each mean is divided by its count once more before they are added.",
        lambda means, counts: (means / counts[:, None]).sum(dim=0),
    ),
    Mistake(
        "divided-by-own-count",
        "Each mean is divided by its count once more before they are averaged.",
        lambda means, counts: (means / counts[:, None]).mean(dim=0),
    ),
    Mistake(
        "softmax-of-counts",
        "The weights of the means are a softmax of the counts, so the largest share has nearly all the weight.",
        lambda means, counts: counts.float().softmax(dim=0) @ means,
    ),
    Mistake(
        "largest-share-alone",
        "This is the mean of the largest share; the other processes have no part in it.",
        lambda means, counts: means[counts.argmax()],
    ),
    Mistake(
        "first-process-alone",
        "This is what the first process has; the others have no part in it.",
        lambda means, counts: means[0],
    ),
    Mistake(
        "wrong-axis",
        "The sum runs over the D numbers of a gradient: what is left is one number for each process.",
        lambda means, counts: (means * counts[:, None]).sum(dim=1) / counts.sum(),
    ),
    Mistake(
        "axis-kept",
        "The axis of the processes is still there, with length 1.",
        lambda means, counts: _whole(means, counts)[None],
    ),
]


@exercise("A share of every batch", difficulty=2, minutes=8)
def share(answer, draw):
    """`answer(order, rank, world, batch_size)` -> a list of tensors of indices, one for each batch."""
    for world in (2, 3, 1):
        batch_size = world * draw.choose([2, 3]) + world - 1  # not a multiple of the world, but for one process
        last = world + draw.choose([0, 1])  # a shorter last batch, with an image for each
        order = 100 + draw.permutation(3 * batch_size + last)
        batches = [batch.tolist() for batch in order.split(batch_size)]
        before = order.clone()
        found = [_indices(call(answer, order, rank, world, batch_size)) for rank in range(world)]
        if not torch.equal(order, before):
            raise Wrong("input-changed", "Argument 1 is not the same after the call: your code changed it.")
        _look_at(found, batches, order.tolist(), world, batch_size)
        again = [_indices(call(answer, order, rank, world, batch_size)) for rank in range(world)]
        if again != found:
            raise Wrong("random-result", "Called twice with the same input, your function gives two results.")


def _indices(received) -> list[list[int]]:
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if isinstance(received, torch.Tensor) or not isinstance(received, (list, tuple)):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a list of tensors is expected.")
    shares = []
    for part in received:
        if isinstance(part, torch.Tensor) and part.ndim == 1 and part.device.type == "cpu":
            part = part.tolist()
        if not isinstance(part, (list, tuple)) or not all(type(i) is int for i in part):
            raise Wrong("wrong-type", f"A share is {describe(part)} where a tensor of indices is expected.")
        shares.append(list(part))
    return shares


def _look_at(found: list[list[list[int]]], batches: list[list[int]], order: list[int], world: int, size: int) -> None:
    lengths = [len(batch) for batch in batches]
    given = f"Input:    n = {len(order)}, world = {world}, batch_size = {size}; batches of {lengths}"
    shown = [f"Received: rank {rank} shares of {[len(part) for part in parts]}" for rank, parts in enumerate(found)]
    details = [given, *shown]
    images = {i for parts in found for part in parts for i in part}
    asked = [i for parts in found for part in parts for i in part]
    if not images <= set(order):
        if images <= set(range(len(order))):
            raise Wrong(
                "order-ignored", "The shares hold places in the order, and not the images that lie there.", details
            )
        raise Wrong("no-such-image", "The shares hold indices that are not in the order.", details)
    if world > 1 and found[0] == found[1]:
        raise Wrong("all-the-same", "Every process gets the same images, whatever its rank.", details)
    if world > 1 and [part for parts in zip(*found, strict=False) for part in parts] == batches:
        sentence = "Each process gets whole batches in turn: a step then sees as many batches as there are processes."
        raise Wrong("whole-batches-in-turn", sentence, details)
    if set(asked) != set(order) and all(len(parts) == len(batches) - 1 for parts in found):
        raise Wrong("last-batch-dropped", "The last, shorter batch is left out: its images are never seen.", details)
    if len(set(asked)) < len(asked):
        raise Wrong(
            "seen-twice", "Some images are in more than one share: they are seen more than once an epoch.", details
        )
    if images != set(order):
        raise Wrong("left-out", f"{len(order) - len(images)} of {len(order)} images are in no share.", details)
    blocks = [[i for part in parts for i in part] for parts in found]
    if world > 1 and [i for block in blocks for i in block] == order:
        sentence = "Each process has a block of the epoch: together, their first shares are not the first batch."
        raise Wrong("blocks-of-the-epoch", sentence, details)
    if world > 1 and blocks == [order[rank::world] for rank in range(world)]:
        together = [{i for part in parts for i in part} for parts in zip(*found, strict=False)]
        if len({len(parts) for parts in found}) > 1 or together != [set(batch) for batch in batches]:
            sentence = "The epoch is shared out first and cut into batches afterwards: the batches are other ones."
            raise Wrong("cut-after-sharing", sentence, details)
    for rank, parts in enumerate(found):
        if len(parts) != len(batches):
            expected = f"Expected: {len(batches)} shares for each process, one for each batch"
            sentence = f"The process of rank {rank} has another number of shares than there are batches."
            raise Wrong("number-of-batches", sentence, [given, expected, *shown])
    for i, batch in enumerate(batches):
        parts = [parts[i] for parts in found]
        if {image for part in parts for image in part} != set(batch):
            expected = f"Expected: the images {describe(batch)} in the shares of batch {i}, in any order"
            received = f"Received: {describe([image for part in parts for image in part])}"
            raise Wrong("wrong-behaviour", "The shares of a batch are not that batch.", [given, expected, received])
        if max(map(len, parts)) - min(map(len, parts)) > 1:
            sentence = "The shares of a batch differ by more than one image, so one process waits for another."
            raise Wrong("uneven", sentence, details)


@exercise("A step in parts, mended", difficulty=2, minutes=12)
def parts(answer, draw):
    """`answer(model, images, labels, optimiser, parts)` moves the weights once -> the mean loss, a float."""
    draws = []
    for count in (3, 4):
        classes, features = draw.sizes(2, low=3)
        batch = 2 * count + 1 if count == 3 else 3 * count - 2  # 3, 3, 1 and 3, 3, 3, 1
        labels = draw.permutation(2 * batch).reshape(2, batch) % classes
        draws.append((3 * draw.normal(2, batch, features), labels, draw.normal(classes, features), count))
    _one_batch(answer, draws[0])
    same_function(
        lambda *arguments: _weights_after_each(answer, *arguments),
        lambda images, labels, weight, parts: _weights_after_each(_step(), images, labels, weight, parts),
        draws,
        axes="(step, K, D)",
        differentiable=False,
        mistakes=[
            Mistake(slug, sentence, lambda *arguments, f=function: _weights_after_each(f, *arguments))
            for slug, sentence, function in _STEPS
        ],
    )
    _returned_loss(answer, draws[0])


class _Linear(nn.Module):
    """Notes how many images each call has."""

    def __init__(self, weight: torch.Tensor):
        super().__init__()
        self.weight = nn.Parameter(weight.clone())
        self.calls = []

    def forward(self, x):
        self.calls.append(len(x))
        return F.linear(x, self.weight)


def _model_and_optimiser(weight: torch.Tensor):
    model = _Linear(weight)
    return model, torch.optim.SGD(model.parameters(), lr=0.5)


def _weights_after_each(function, images, labels, weight, parts) -> torch.Tensor:
    """(2, B, D), (2, B), (K, D) -> (2, K, D): the weights after each of two steps."""
    model, optimiser = _model_and_optimiser(weight)
    after = []
    for x, y in zip(images, labels, strict=True):
        function(model, x, y, optimiser, parts)
        after.append(model.weight.detach().clone())
    return torch.stack(after)


def _step(clear="once", move="once", scale="share"):
    # One step in parts, with what people do wrong.
    def step(model, images, labels, optimiser, parts):
        pieces = list(zip(images.chunk(parts), labels.chunk(parts), strict=True))
        total = 0.0
        if clear == "once":
            optimiser.zero_grad()
        for x, y in pieces:
            if clear == "each":
                optimiser.zero_grad()
            factor = {
                "share": len(x) / len(images),
                "none": 1.0,
                "equal": 1 / len(pieces),
                "sum": float(len(x)),
                "sum-over-parts": len(x) / len(pieces),
            }[scale]
            loss = factor * F.cross_entropy(model(x), y)
            loss.backward()
            total += loss.item()
            if move == "each":
                optimiser.step()
        if move == "once":
            optimiser.step()
        return total

    return step


_CLEARED = "The gradients are cleared before each part, so only the last part moves the weights."
_MOVED = "The weights move after each part, so later parts are computed with other weights than the first."
_SCALES = {
    "none": (
        "not-scaled",
        "The means of the parts are added: the gradient is as many times too long as there are parts.",
    ),
    "equal": (
        "mean-of-means",
        "Every part counts alike: an image in a short part weighs more than one in a long part.",
    ),
    "sum": ("loss-summed", "The losses are summed over the images and never divided."),
    "sum-over-parts": ("divided-by-parts", "The sum of the losses over the images is divided by the number of parts."),
}
_STEPS = [
    *((slug, sentence, _step(scale=scale)) for scale, (slug, sentence) in _SCALES.items()),
    ("cleared-each-part", _CLEARED, _step(clear="each")),
    *(
        (f"cleared-each-part-and-{slug}", f"{_CLEARED} And its share is not right either.", _step("each", scale=scale))
        for scale, (slug, _) in _SCALES.items()
    ),
    ("never-cleared", "The gradients of the batch before are still there and are added.", _step(clear="never")),
    (
        "never-cleared",
        "The gradients of the batch before are still there and are added, and the parts do not have their share.",
        _step(clear="never", scale="equal"),
    ),
    (
        "never-cleared",
        "The gradients of the batch before are still there and are added, and the parts do not have their share.",
        _step(clear="never", scale="none"),
    ),
    (
        "uphill",
        "The step goes up the gradient: the loss rises.",
        lambda model, images, labels, optimiser, parts: _uphill(model, images, labels, optimiser),
    ),
]


def _uphill(model, images, labels, optimiser) -> None:
    optimiser.zero_grad()
    (-F.cross_entropy(model(images), labels)).backward()
    optimiser.step()


def _one_batch(answer, draw) -> None:
    """What happens in one step, before numbers are compared: calls, moves."""
    images, labels, weight, count = draw
    model, optimiser = _model_and_optimiser(weight)
    steps = []
    optimiser.register_step_post_hook(lambda *_: steps.append(model.weight.grad is not None))
    result = call(answer, model, images[0], labels[0], optimiser, count)
    if not model.calls:
        raise Wrong("model-not-used", "The model was never called.")
    batch = len(labels[0])
    if max(model.calls) == batch:
        sentence = "The whole batch went through the model at once, so no memory is saved."
        raise Wrong("not-in-parts", sentence, [f"Received: calls with {model.calls} images"])
    if sum(model.calls) < batch:
        sentence = "Some images of the batch never went through the model."
        raise Wrong("images-left-out", sentence, [f"Expected: {batch} images", f"Received: {model.calls} images"])
    if sum(model.calls) > batch:
        sentence = "Images of the batch went through the model more than once."
        raise Wrong("more-than-once", sentence, [f"Expected: {batch} images", f"Received: {model.calls} images"])
    if max(model.calls) > math.ceil(batch / count):
        sentence = "A part has more images than it need have, and so takes more memory."
        raise Wrong("parts-too-long", sentence, [f"Received: calls with {model.calls} images, for {count} parts"])
    if not steps:
        raise Wrong("no-step", "The optimiser never took a step, so no weight has moved.")
    if len(steps) > 1:
        raise Wrong("step-each-part", _MOVED, ["Expected: 1 step", f"Received: {len(steps)} steps"])
    if not steps[0] or (model.weight == weight).all():
        raise Wrong("step-without-gradients", "There were no gradients when the optimiser took its step.")
    _real(result)


def _returned_loss(answer, draw) -> None:
    images, labels, weight, count = draw
    model, optimiser = _model_and_optimiser(weight)
    received = _real(call(answer, model, images[0], labels[0], optimiser, count))
    losses = F.cross_entropy(F.linear(images[0], weight), labels[0], reduction="none")  # (B,)
    expected = losses.mean().item()
    if math.isclose(received, expected, rel_tol=1e-3):
        return
    means = [part.mean().item() for part in losses.chunk(count)]
    after = F.cross_entropy(F.linear(images[0], model.weight.detach()), labels[0]).item()
    details = [f"Expected: {expected:.3f}", f"Received: {received:.3f}"]
    for sentence, value in (
        ("The returned loss is that of the last part alone.", means[-1]),
        (
            "The returned loss is the share of the last part alone.",
            means[-1] * len(losses.chunk(count)[-1]) / len(losses),
        ),
        ("The returned loss is the sum of the parts' means.", sum(means)),
        ("The returned loss is the mean of the parts' means: the parts are not equally long.", sum(means) / len(means)),
        ("The returned loss is a sum over the images.", expected * len(losses)),
        ("The returned loss is that of the weights after the step.", after),
    ):
        if math.isclose(received, value, rel_tol=1e-3):
            raise Wrong("wrong-loss", f"The weights are right. {sentence}", details)
    raise Wrong("wrong-values", "The weights are right, the returned loss is not.", details)


def _real(value) -> float:
    if value is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        raise Wrong("wrong-type", f"The result is {describe(value)} where a number is expected.") from None


@exercise("Turned by row and column", difficulty=3, minutes=12)
def rotary(answer, draw):
    """`answer(x, grid)`: (B, h, N, d), (rows, columns) -> (B, h, N, d)."""
    draws = []
    for _ in range(2):
        batch, heads, rows, columns, quarter = draw.sizes(5, low=3, high=8)
        draws.append((draw.normal(batch, heads, rows * columns, 4 * quarter), (rows, columns)))
    same_function(answer, _turn_grid, draws, _TURNS, axes="(B, h, N, d)")
    x, grid = draws[0]
    equal(call(answer, x, list(grid)), _turn_grid(x, grid), axes="(B, h, N, d)")


def _turn_line(x: torch.Tensor, positions: torch.Tensor, width: int | None = None, sign: int = 1) -> torch.Tensor:
    d = x.shape[-1]
    angles = sign * positions[:, None] * 100.0 ** (-torch.arange(0, d, 2) / (width or d))  # (T, d / 2)
    a, b = x[..., 0::2], x[..., 1::2]  # (..., T, d / 2)
    turned = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(turned, dim=-1).flatten(-2)  # (..., T, d)


def _turn_grid(x, grid, places=None, halves=(0, 1), order=(0, 1), **how):
    rows, columns = grid
    if places is None:
        n = torch.arange(rows * columns)  # (N,)
        places = n // columns, n % columns
    pieces = x.chunk(2, dim=-1)  # 2 x (B, h, N, d / 2)
    turned = [_turn_line(pieces[half], places[place], **how) for half, place in zip(halves, order, strict=True)]
    return torch.cat(turned, dim=-1)


def _places(rows: int, columns: int, kind: str):
    n = torch.arange(rows * columns)
    return {
        "from-one": (n // columns + 1, n % columns + 1),
        "columns-first": (n % rows, n // rows),
        "rows-and-columns-exchanged": (n // rows, n % rows),
        "shares": ((n // columns) / rows, (n % columns) / columns),
    }[kind]


def _interleaved(x, grid):
    rows, columns = grid
    n = torch.arange(rows * columns)
    turned = _turn_line(x[..., 0::2], n // columns), _turn_line(x[..., 1::2], n % columns)
    return torch.stack(turned, dim=-1).flatten(-2)


def _by_both(x, grid):
    rows, columns = grid
    n = torch.arange(rows * columns)
    return _turn_line(_turn_line(x, n // columns), n % columns)


_TURNS = [
    Mistake(
        "row-and-column-swapped",
        "The first half is turned by the column and the last by the row.",
        lambda x, grid: _turn_grid(x, grid, order=(1, 0)),
    ),
    Mistake(
        "on-a-line",
        "The patches are turned as if they lay on one line: the end of a row is next to the start of the next one.",
        lambda x, grid: _turn_line(x, torch.arange(x.shape[-2])),
    ),
    Mistake(
        "both-halves-on-a-line",
        "Each half is turned by the number of the patch, and neither row nor column has a part in it.",
        lambda x, grid: _turn_grid(x, grid, places=(torch.arange(x.shape[-2]),) * 2),
    ),
    Mistake(
        "row-alone",
        "Both halves are turned by the row: patches of one row cannot be told apart.",
        lambda x, grid: _turn_grid(x, grid, order=(0, 0)),
    ),
    Mistake(
        "column-alone",
        "Both halves are turned by the column: patches of one column cannot be told apart.",
        lambda x, grid: _turn_grid(x, grid, order=(1, 1)),
    ),
    Mistake(
        "row-on-everything",
        "All of the vector is turned by the row.",
        lambda x, grid: _turn_line(x, torch.arange(x.shape[-2]) // grid[1]),
    ),
    Mistake(
        "column-on-everything",
        "All of the vector is turned by the column.",
        lambda x, grid: _turn_line(x, torch.arange(x.shape[-2]) % grid[1]),
    ),
    Mistake(
        "turned-twice",
        "All of the vector is turned by the row and then by the column: the two angles add up.",
        _by_both,
    ),
    Mistake(
        "down-the-columns",
        "The tokens are taken column by column, and they come row by row.",
        lambda x, grid: _turn_grid(x, grid, places=_places(*grid, "columns-first")),
    ),
    Mistake(
        "divided-by-rows",
        "Rows and columns are counted by dividing by the number of rows, as if a row had that many patches.",
        lambda x, grid: _turn_grid(x, grid, places=_places(*grid, "rows-and-columns-exchanged")),
    ),
    Mistake(
        "counted-from-one",
        "Rows and columns are counted from 1.",
        lambda x, grid: _turn_grid(x, grid, places=_places(*grid, "from-one")),
    ),
    Mistake(
        "shares-of-the-grid",
        "The places run from 0 to 1 over the grid: what one step means depends on the size of the image.",
        lambda x, grid: _turn_grid(x, grid, places=_places(*grid, "shares")),
    ),
    Mistake(
        "every-second-number",
        "Row and column have every second number each, where each has a half that hangs together.",
        _interleaved,
    ),
    Mistake(
        "halves-exchanged",
        "The two halves are put together in the wrong order.",
        lambda x, grid: _turn_grid(x, grid).roll(x.shape[-1] // 2, dims=-1),
    ),
    Mistake(
        "rates-of-the-whole",
        "The rates are worked out for a vector of d numbers and used on half of it.",
        lambda x, grid: _turn_grid(x, grid, width=x.shape[-1]),
    ),
    Mistake(
        "turned-backwards",
        "Every vector is turned the other way round.",
        lambda x, grid: _turn_grid(x, grid, sign=-1),
    ),
    Mistake("not-turned", "The vectors come back as they went in.", lambda x, grid: x),
]
