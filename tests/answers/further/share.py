"""Answers to exercise further.share."""

import torch

from answers import UNKNOWN, Answers

answers = Answers("further.share")

answers.edits(("all-the-same", "rank::", "::"))


@answers.right
def pieces(order, rank, world, batch_size):
    return [batch.tensor_split(world)[rank] for batch in order.split(batch_size)]


@answers.right
def from_the_end(order, rank, world, batch_size):
    return [torch.tensor(batch.tolist()[::-1][rank::world]) for batch in order.split(batch_size)]


@answers.right
def by_a_mask(order, rank, world, batch_size):
    mine = torch.arange(batch_size) % world == rank
    return tuple(batch[mine[: len(batch)]] for batch in order.split(batch_size))


@answers.right
def the_longer_share_in_turn(order, rank, world, batch_size):
    return [batch[(rank + number) % world :: world] for number, batch in enumerate(order.split(batch_size))]


@answers.wrong("all-the-same")
def whole_batches(order, rank, world, batch_size):
    return list(order.split(batch_size))


@answers.wrong("whole-batches-in-turn")
def whole_batches_in_turn(order, rank, world, batch_size):
    return list(order.split(batch_size))[rank::world]


@answers.wrong("blocks-of-the-epoch")
def blocks_of_the_epoch(order, rank, world, batch_size):
    return list(order.tensor_split(world)[rank].split(batch_size))


@answers.wrong("cut-after-sharing")
def cut_after_sharing(order, rank, world, batch_size):
    return list(order[rank::world].split(batch_size // world))


@answers.wrong("cut-after-sharing")
def a_batch_for_each_process(order, rank, world, batch_size):
    return [batch[rank::world] for batch in order.split(batch_size * world)]


@answers.wrong("last-batch-dropped")
def last_batch_dropped(order, rank, world, batch_size):
    whole = len(order) // batch_size * batch_size
    return [batch[rank::world] for batch in order[:whole].split(batch_size)]


@answers.wrong("seen-twice")
def last_batch_filled_up(order, rank, world, batch_size):
    order = torch.cat([order, order[: -len(order) % batch_size]])
    return [batch[rank::world] for batch in order.split(batch_size)]


@answers.wrong("order-ignored")
def order_ignored(order, rank, world, batch_size):
    return [batch[rank::world] for batch in torch.arange(len(order)).split(batch_size)]


@answers.wrong("left-out")
def remainder_left_out(order, rank, world, batch_size):
    return [batch[: len(batch) // world * world][rank::world] for batch in order.split(batch_size)]


@answers.wrong("fewer-pieces-than-processes")
def chunks(order, rank, world, batch_size):
    return [batch.chunk(world)[rank] for batch in order.split(batch_size)]


@answers.wrong("uneven")
def rest_to_the_last(order, rank, world, batch_size):
    shares = []
    for batch in order.split(batch_size):
        size = len(batch) // world
        end = (rank + 1) * size if rank < world - 1 else len(batch)
        shares.append(batch[rank * size : end])
    return shares


@answers.wrong("number-of-batches")
def one_share_an_epoch(order, rank, world, batch_size):
    return [torch.cat([batch[rank::world] for batch in order.split(batch_size)])]


@answers.wrong("wrong-type")
def one_tensor(order, rank, world, batch_size):
    return torch.cat([batch[rank::world] for batch in order.split(batch_size)])


@answers.wrong("share-not-a-tensor")
def lists(order, rank, world, batch_size):
    return [batch[rank::world].tolist() for batch in order.split(batch_size)]


@answers.wrong("wrong-dtype")
def floats(order, rank, world, batch_size):
    return [batch[rank::world].float() for batch in order.split(batch_size)]


@answers.wrong("mask-not-indices")
def masks(order, rank, world, batch_size):
    return [torch.arange(len(batch)) % world == rank for batch in order.split(batch_size)]


@answers.wrong("shares-of-all")
def shares_of_all(order, rank, world, batch_size):
    return [list(batch.tensor_split(world)) for batch in order.split(batch_size)]


@answers.wrong("sorted")
def order_sorted(order, rank, world, batch_size):
    return [batch[rank::world] for batch in order.sort().values.split(batch_size)]


@answers.wrong("random-result")
def shuffled_again(order, rank, world, batch_size):
    return [batch[rank::world] for batch in order[torch.randperm(len(order))].split(batch_size)]


@answers.wrong(UNKNOWN)
def two_images_exchanged(order, rank, world, batch_size):
    order = order.clone()
    order[[0, batch_size]] = order[[batch_size, 0]]
    return [batch[rank::world] for batch in order.split(batch_size)]
