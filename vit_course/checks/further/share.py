"""Exercise further.share: each process's share of every batch."""

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Known, Mistake, named_by_details, refuse
from vit_course.checks.tools.words import describe


def share(answer, draw):
    """`answer(order, rank, world, batch_size)` -> a list of tensors of indices, one for each batch."""
    for world in (2, 3, 1):
        size = world * draw.choose([2, 3]) + world - 1  # not a multiple of the world, but for one process
        last = world + draw.choose([0, 1])  # a shorter last batch, with an image for each
        order = 100 + draw.permutation(3 * size + last)
        with named_by_details(*ERRORS):
            found = [_indices(call(answer, order, rank, world, size)) for rank in range(world)]
        again = [_indices(call(answer, order, rank, world, size)) for rank in range(world)]
        if again != found:
            raise Wrong("random-result", "Called twice with the same input, your function gives different results.")
        _look_at(found, order.tolist(), world, size)


def _indices(received) -> list[list[int]]:
    if not isinstance(received, (list, tuple)):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a list of tensors is expected.")
    for part in received:
        _refuse_part(part)
    return [part.tolist() for part in received]


def _refuse_part(part) -> None:
    if isinstance(part, (list, tuple)) and part and all(isinstance(one, torch.Tensor) and one.ndim for one in part):
        sentence = "There is a share for every process; the exercise asks only for that of process `rank`."
        raise Wrong("shares-of-all", sentence)
    if not isinstance(part, torch.Tensor) or part.device.type != "cpu" or part.ndim != 1:
        sentence = f"A share is {describe(part)} where a tensor of indices, with one axis, is expected."
        raise Wrong("share-not-a-tensor", sentence)
    if part.dtype == torch.bool:
        sentence = "A share is a mask of True and False; the exercise asks for the indices of the images."
        raise Wrong("mask-not-indices", sentence)
    if part.is_floating_point():
        raise Wrong("wrong-dtype", "The indices are floats, which cannot be used as indices.")


def _look_at(found: list[list[list[int]]], order: list[int], world: int, size: int) -> None:
    """Raises `Wrong` unless the shares make up the batches; `found` has them by process and by step."""
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    details = [f"Input:    n = {len(order)}, world = {world}, batch_size = {size}; "]
    details[0] += f"batches of {[len(batch) for batch in batches]}"
    details += [f"Received: rank {rank} shares of {[len(part) for part in parts]}" for rank, parts in enumerate(found)]
    blocks = [[i for part in parts for i in part] for parts in found]  # of each process, all its images
    asked = [i for block in blocks for i in block]
    together = [{i for part in parts for i in part} for parts in zip(*found, strict=False)]  # of each step
    # The epoch was divided before it was cut into batches, or it was cut into batches of another size.
    shared_first = (
        world > 1
        and blocks == [order[rank::world] for rank in range(world)]
        and (len({len(parts) for parts in found}) > 1 or together != [{*batch} for batch in batches])
    )
    refuse(
        SHARES,
        details,
        found=found,
        order=order,
        world=world,
        size=size,
        batches=batches,
        asked=asked,
        together=together,
        shared_first=shared_first,
        missing=f"{len({*order} - {*asked})} of {len(order)}",
    )
    for number, (batch, part) in enumerate(zip(batches, together, strict=True)):
        if part != {*batch}:
            shown = [details[0], f"Expected: the images {sorted(batch)} in the shares of batch {number}, in any order"]
            shown.append(f"Received: {sorted(part)}")
            raise Wrong("wrong-behaviour", "The shares of a batch do not add up to that batch.", shown)
    for parts in zip(*found, strict=True):
        if max(map(len, parts)) - min(map(len, parts)) > 1:
            sentence = "The shares of a batch differ in size by more than one image, so one process waits for another."
            raise Wrong("uneven", sentence, details)


ERRORS = [
    Known(
        "IndexError: .*(tuple|list) index",
        "fewer-pieces-than-processes",
        "A batch was cut into fewer pieces than there are processes, so one process gets none.",
    ),
]

SHARES = [
    Mistake(
        "order-ignored",
        "The shares hold places in the order, not the images at those places.",
        lambda seen: not {*seen.asked} <= {*seen.order} and {*seen.asked} <= {*range(len(seen.order))},
    ),
    Mistake(
        "all-the-same",
        "Every process gets the same images, whatever its rank.",
        lambda seen: seen.world > 1 and seen.found[0] == seen.found[1],
    ),
    Mistake(
        "whole-batches-in-turn",
        "Whole batches go to the processes in turn, so one step uses as many batches as there are processes.",
        lambda seen: (
            seen.world > 1 and [part for parts in zip(*seen.found, strict=False) for part in parts] == seen.batches
        ),
    ),
    Mistake(
        "last-batch-dropped",
        "The last, shorter batch is left out, so its images are never seen.",
        lambda seen: (
            {*seen.asked} != {*seen.order} and all(len(parts) == len(seen.batches) - 1 for parts in seen.found)
        ),
    ),
    Mistake(
        "seen-twice",
        "Some images are in more than one share, so they are seen more than once per epoch.",
        lambda seen: len({*seen.asked}) < len(seen.asked),
    ),
    Mistake("left-out", "{missing} images are not in any share.", lambda seen: {*seen.order} - {*seen.asked}),
    Mistake(
        "blocks-of-the-epoch",
        "Each process gets one block of the epoch, so the first shares together are not the first batch.",
        lambda seen: seen.world > 1 and seen.asked == seen.order,
    ),
    Mistake(
        "cut-after-sharing",
        "Each process takes `batch_size` images per step; that should be the number for all processes together.",
        lambda seen: seen.shared_first and len(seen.together[0]) == seen.world * seen.size,
    ),
    Mistake(
        "cut-after-sharing",
        "Each process gets its images of the epoch, but cut into other batches, as when the epoch is divided first.",
        lambda seen: seen.shared_first,
    ),
    Mistake(
        "number-of-batches",
        "For at least one process, the number of shares is not the number of batches.",
        lambda seen: any(len(parts) != len(seen.batches) for parts in seen.found),
    ),
    Mistake(
        "sorted",
        "The order was sorted, so the batches are different.",
        lambda seen: (
            seen.together != [{*batch} for batch in seen.batches]
            and [i for step in seen.together for i in sorted(step)] == sorted(seen.order)
        ),
    ),
]
