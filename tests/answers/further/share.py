"""Answers to exercise further.share."""

import numpy as np
import torch

from answers import right, unforeseen, wrong


@right("further.share")
def strided(order, rank, world, batch_size):
    return [batch[rank::world] for batch in order.split(batch_size)]


@right("further.share")
def contiguous(order, rank, world, batch_size):
    return [batch.tensor_split(world)[rank] for batch in order.split(batch_size)]


@right("further.share")
def from_the_other_end(order, rank, world, batch_size):
    return [torch.tensor(batch.tolist()[::-1][rank::world]) for batch in order.split(batch_size)]


@wrong("further.share", "share-not-a-tensor")
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


@wrong("further.share", "batches-not-kept-apart")
def flat(order, rank, world, batch_size):
    return torch.cat(strided(order, rank, world, batch_size)).tolist()


@wrong("further.share", "returned-nothing")
def forgot(order, rank, world, batch_size):
    strided(order, rank, world, batch_size)


@wrong("further.share", "random-result")
def shuffled_anew(order, rank, world, batch_size):
    return [batch[torch.randperm(len(batch))] for batch in strided(order, rank, world, batch_size)]


@right("further.share")
def in_turn(order, rank, world, batch_size):
    return [batch[(rank + number) % world :: world] for number, batch in enumerate(order.split(batch_size))]


@right("further.share")
def by_a_mask(order, rank, world, batch_size):
    return tuple(batch[torch.arange(len(batch)) % world == rank] for batch in order.split(batch_size))


for _slug, _change in {
    "share-not-a-tensor": lambda share: share.numpy(),
    "wrong-dtype": lambda share: share.float(),
    "share-not-in-line": lambda share: share[:, None],
}.items():
    wrong("further.share", _slug)(lambda *given, change=_change: [change(share) for share in strided(*given)])


@wrong("further.share", "fewer-pieces-than-processes")
def chunks(order, rank, world, batch_size):
    return [batch.chunk(world)[rank] for batch in order.split(batch_size)]


@wrong("further.share", "ranks-from-one")
def next_rank(order, rank, world, batch_size):
    return strided(order, rank + 1, world, batch_size)


@wrong("further.share", "batch-size-taken-for-their-number")
def number_of_batches(order, rank, world, batch_size):
    return [batch[rank::world] for batch in order.chunk(batch_size)]


@wrong("further.share", "sorted")
def sorted_first(order, rank, world, batch_size):
    return strided(order.sort().values, rank, world, batch_size)


@wrong("further.share", "random-result")
def shuffled_by_each(order, rank, world, batch_size):
    return strided(order[torch.randperm(len(order))], rank, world, batch_size)


@wrong("further.share", "shares-of-all")
def for_everybody(order, rank, world, batch_size):
    return [list(batch.tensor_split(world)) for batch in order.split(batch_size)]


@wrong("further.share", "mask-not-indices")
def masks(order, rank, world, batch_size):
    return [torch.arange(len(batch)) % world == rank for batch in order.split(batch_size)]


@wrong("further.share", "step-of-zero")
def every_rankth(order, rank, world, batch_size):
    return [batch[world::rank] for batch in order.split(batch_size)]


@unforeseen("further.share")
def batches_rolled_within_pairs(order, rank, world, batch_size):
    # Another way to cut: the first two batches have exchanged an image.
    changed = order.clone()
    changed[[0, batch_size]] = order[[batch_size, 0]]
    return strided(changed, rank, world, batch_size)


@wrong("further.share", "cut-after-sharing")
def batch_size_of_each_process(order, rank, world, batch_size):
    return [batch[rank::world] for batch in order.split(batch_size * world)]
