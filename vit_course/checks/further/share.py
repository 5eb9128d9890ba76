"""Exercise further.share: each process's share of every batch."""

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, refuse
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
    refuse(RESULT, {"received": received, "found": describe(received)})
    for part in received:
        refuse(ONE_SHARE, {"part": part, "found": describe(part)})
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
    refuse(
        SHARES,
        dict(
            found=found,
            order=order,
            world=world,
            size=size,
            batches=batches,
            pieces=pieces,
            blocks=blocks,
            asked=asked,
            together=together,
            shared_first=shared_first,
            images=images,
            left_out=left_out,
        ),
        details,
    )
    for number, (batch, part) in enumerate(zip(batches, together, strict=True)):
        if part != {*batch}:
            shown = [details[0], f"Expected: the images {sorted(batch)} in the shares of batch {number}, in any order"]
            shown.append(f"Received: {sorted(part)}")
            raise Wrong("wrong-behaviour", "The shares of a batch do not add up to that batch.", shown)
    refuse(LENGTHS, dict(uneven=uneven), details)


ERRORS = [
    Known(
        "IndexError: .*(tuple|list) index",
        "fewer-pieces-than-processes",
        "A batch was cut into fewer pieces than there are processes, so one process gets none.",
    ),
]

RESULT = [
    Slip("returned-nothing", "The result is None: nothing was returned.", lambda received: received is None),
    Slip(
        "wrong-type",
        "The result is {found} where a list of tensors is expected.",
        lambda received: not isinstance(received, (list, tuple)),
    ),
]

ONE_SHARE = [
    Slip(
        "shares-of-all",
        "There is a share for every process; the exercise asks only for that of process `rank`.",
        lambda part: (
            isinstance(part, (list, tuple)) and part and all(isinstance(one, torch.Tensor) and one.ndim for one in part)
        ),
    ),
    Slip(
        "batches-not-kept-apart",
        "The indices come one by one; there should be one tensor for each batch.",
        lambda part: type(part) is int or (isinstance(part, torch.Tensor) and part.ndim == 0),
    ),
    Slip(
        "share-not-a-tensor",
        "A share is {found} where a tensor of indices is expected.",
        lambda part: not isinstance(part, torch.Tensor) or part.device.type != "cpu",
    ),
    Slip(
        "share-not-in-line", "A share is {found}; its indices should have a single axis.", lambda part: part.ndim != 1
    ),
    Slip(
        "mask-not-indices",
        "A share is a mask of True and False; the exercise asks for the indices of the images.",
        lambda part: part.dtype == torch.bool,
    ),
    Slip(
        "wrong-dtype", "The indices are floats, which cannot be used as indices.", lambda part: part.is_floating_point()
    ),
]

SHARES = [
    Slip(
        "order-ignored",
        "The shares hold places in the order, not the images at those places.",
        lambda images, order: not images <= {*order} and images <= {*range(len(order))},
    ),
    Slip(
        "no-such-image",
        "The shares hold indices that are not in the order.",
        lambda images, order: not images <= {*order},
    ),
    Slip(
        "all-the-same",
        "Every process gets the same images, whatever its rank.",
        lambda world, found: world > 1 and found[0] == found[1],
    ),
    Slip(
        "whole-batches-in-turn",
        "Whole batches go to the processes in turn, so one step uses as many batches as there are processes.",
        lambda world, found, batches: (
            world > 1 and [part for parts in zip(*found, strict=False) for part in parts] == batches
        ),
    ),
    Slip(
        "ranks-from-one",
        "The ranks are counted from 1, so each process gets the share of the next one.",
        lambda found, world, batches: (
            found == [[batch[rank + 1 :: world] for batch in batches] for rank in range(world)]
        ),
    ),
    Slip(
        "batch-size-taken-for-their-number",
        "The epoch is cut into `batch_size` pieces; instead, each batch should have `batch_size` images.",
        lambda pieces, batches, together: len(pieces) != len(batches) and together == pieces,
    ),
    Slip(
        "last-batch-dropped",
        "The last, shorter batch is left out, so its images are never seen.",
        lambda images, order, batches, found: (
            images != {*order} and all(len(parts) == len(batches) - 1 for parts in found)
        ),
    ),
    Slip(
        "seen-twice",
        "Some images are in more than one share, so they are seen more than once per epoch.",
        lambda images, asked: len(images) < len(asked),
    ),
    Slip("left-out", "{left_out} images are not in any share.", lambda images, order: images != {*order}),
    Slip(
        "blocks-of-the-epoch",
        "Each process gets one block of the epoch, so the first shares together are not the first batch.",
        lambda world, blocks, order: world > 1 and [i for block in blocks for i in block] == order,
    ),
    Slip(
        "cut-after-sharing",
        "Each process takes `batch_size` images per step; that should be the number for all processes together.",
        lambda shared_first, together, world, size: shared_first and len(together[0]) == world * size,
    ),
    Slip(
        "cut-after-sharing",
        (
            "The epoch is divided among the processes first and cut into batches afterwards, so the batches are "
            "different."
        ),
        lambda shared_first: shared_first,
    ),
    Slip(
        "number-of-batches",
        "For at least one process, the number of shares is not the number of batches.",
        lambda batches, found: any(len(parts) != len(batches) for parts in found),
    ),
    Slip(
        "sorted",
        "The order was sorted, so the batches are different.",
        lambda together, batches, order: (
            together != [{*batch} for batch in batches]
            and [i for step in together for i in sorted(step)] == sorted(order)
        ),
    ),
]

LENGTHS = [
    Slip(
        "uneven",
        "The shares of a batch differ in size by more than one image, so one process waits for another.",
        lambda uneven: uneven,
    ),
]
