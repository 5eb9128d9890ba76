"""Exercise further.share: each process's share of every batch."""

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse
from vit_course.checks.tools.words import describe


def share(answer, draw):
    """`answer(order, rank, world, batch_size)` -> a list of tensors of indices, one for each batch."""
    for world in (2, 3, 1):
        size = world * draw.choose([2, 3]) + world - 1  # not a multiple of the world, but for one process
        last = world + draw.choose([0, 1])  # a shorter last batch, with an image for each
        order = 100 + draw.permutation(3 * size + last)
        with named_by_details(*known(__name__, "errors")):
            found = [_indices(call(answer, order, rank, world, size)) for rank in range(world)]
        again = [_indices(call(answer, order, rank, world, size)) for rank in range(world)]
        if again != found:
            raise Wrong("random-result", "Called twice with the same input, your function gives different results.")
        _look_at(found, order.tolist(), world, size)


def _indices(received) -> list[list[int]]:
    refuse(__name__, "result", {"received": received, "found": describe(received)})
    for part in received:
        refuse(__name__, "one-share", {"part": part, "found": describe(part)})
    return [part.tolist() for part in received]


def _look_at(found: list[list[list[int]]], order: list[int], world: int, size: int) -> None:
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    pieces = [set(piece.tolist()) for piece in torch.tensor(order).chunk(size)]
    blocks = [[i for part in parts for i in part] for parts in found]  # of each process, all its images
    asked = [i for block in blocks for i in block]
    images, left_out = set(asked), f"{len({*order} - {*asked})} of {len(order)}"
    together = [{i for part in parts for i in part} for parts in zip(*found, strict=False)]  # of each step
    uneven = [batch for batch in zip(*found, strict=False) if max(map(len, batch)) - min(map(len, batch)) > 1]
    # Shared out before it was cut into batches; the same comes of batches that are cut first and are too large.
    shared_first = (
        world > 1
        and blocks == [order[rank::world] for rank in range(world)]
        and (len({len(parts) for parts in found}) > 1 or together != [{*batch} for batch in batches])
    )
    lengths = [len(batch) for batch in batches]
    details = [f"Input:    n = {len(order)}, world = {world}, batch_size = {size}; batches of {lengths}"]
    details += [f"Received: rank {rank} shares of {[len(part) for part in parts]}" for rank, parts in enumerate(found)]
    refuse(__name__, "shares", locals(), details)
    for number, (batch, part) in enumerate(zip(batches, together, strict=True)):
        if part != {*batch}:
            shown = [details[0], f"Expected: the images {sorted(batch)} in the shares of batch {number}, in any order"]
            shown.append(f"Received: {sorted(part)}")
            raise Wrong("wrong-behaviour", "The shares of a batch do not add up to that batch.", shown)
    refuse(__name__, "lengths", locals(), details)
