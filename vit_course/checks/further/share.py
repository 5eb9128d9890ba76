"""Exercise further.share: each process's share of every batch."""

import torch

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.words import describe


@exercise("A share of every batch", section="Several processes", difficulty=2, minutes=8)
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
