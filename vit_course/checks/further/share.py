"""Exercise further.share: each process's share of every batch."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse
from vit_course.checks.tools.words import describe


@exercise("11.2", "A share of every batch", section="Several processes", difficulty=2, minutes=8)
def share(answer, draw):
    """`answer(order, rank, world, batch_size)` -> a list of tensors of indices, one for each batch."""
    for world in (2, 3, 1):
        batch_size = world * draw.choose([2, 3]) + world - 1  # not a multiple of the world, but for one process
        last = world + draw.choose([0, 1])  # a shorter last batch, with an image for each
        order = 100 + draw.permutation(3 * batch_size + last)
        batches = [batch.tolist() for batch in order.split(batch_size)]
        before = order.clone()
        with named_by_details(*known(__name__, "errors")):
            found = [_indices(call(answer, order, rank, world, batch_size)) for rank in range(world)]
        if not torch.equal(order, before):
            raise Wrong("input-changed", "Argument 1 is not the same after the call: your code changed it.")
        again = [_indices(call(answer, order, rank, world, batch_size)) for rank in range(world)]
        if again != found:
            raise Wrong("random-result", "Called twice with the same input, your function gives two results.")
        _look_at(found, batches, order.tolist(), world, batch_size)


def _indices(received) -> list[list[int]]:
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if isinstance(received, torch.Tensor) or not isinstance(received, (list, tuple)):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a list of tensors is expected.")
    return [_one_share(part) for part in received]


def _one_share(part) -> list[int]:
    refuse(__name__, "one-share", locals())
    if not isinstance(part, torch.Tensor):
        raise Wrong("share-not-a-tensor", f"A share is {describe(part)} where a tensor of indices is expected.")
    if part.device.type != "cpu" or part.ndim != 1:
        if part.ndim == 0:
            raise Wrong(
                "batches-not-kept-apart", "The indices come one by one; there is to be a tensor for each batch."
            )
        raise Wrong("share-not-in-line", f"A share is {describe(part)}; the indices are to lie in one line.")
    if part.dtype == torch.bool:
        raise Wrong("mask-not-indices", "A share says of each place whether it is meant; the images' indices are asked "
                    "for.")  # fmt: skip
    if part.is_floating_point():
        raise Wrong(
            "wrong-dtype", "The indices are floats, by which nothing can be indexed.", [f"Received: {part.dtype}"]
        )
    return part.tolist()


def _look_at(found: list[list[list[int]]], batches: list[list[int]], order: list[int], world: int, size: int) -> None:
    lengths = [len(batch) for batch in batches]
    given = f"Input:    n = {len(order)}, world = {world}, batch_size = {size}; batches of {lengths}"
    shown = [f"Received: rank {rank} shares of {[len(part) for part in parts]}" for rank, parts in enumerate(found)]
    details = [given, *shown]
    images = {i for parts in found for part in parts for i in part}
    asked = [i for parts in found for part in parts for i in part]
    blocks = [[i for part in parts for i in part] for parts in found]
    together, pieces = _together(found), [set(piece.tolist()) for piece in torch.tensor(order).chunk(size)]
    # Shared out before it was cut into batches; the same comes of batches that are cut first and are too large.
    shared_first = (
        world > 1
        and blocks == [order[rank::world] for rank in range(world)]
        and (len({len(parts) for parts in found}) > 1 or together != [set(batch) for batch in batches])
    )
    left_out = f"{len(order) - len(images)} of {len(order)}"
    refuse(__name__, "shares", locals(), details)
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
            slug, sentence = "wrong-behaviour", "The shares of a batch are not that batch."
            if [image for batch in together for image in sorted(batch)] == sorted(order):
                slug, sentence = "sorted", "The order was sorted, so that the batches are other ones."
            raise Wrong(slug, sentence, [given, expected, received])
        if max(map(len, parts)) - min(map(len, parts)) > 1:
            sentence = "The shares of a batch differ by more than one image, so one process waits for another."
            raise Wrong("uneven", sentence, details)


def _together(found: list[list[list[int]]]) -> list[set[int]]:
    return [{image for part in parts for image in part} for parts in zip(*found, strict=False)]
