"""Answers to exercise positions.reads_order."""

import torch

from answers import right, unforeseen, wrong


def orders(count):
    for _ in range(count):
        yield lambda x: x[:, torch.cat([torch.zeros(1, dtype=torch.long), 1 + torch.randperm(x.shape[1] - 1)])]


def differs(encoder, tokens, change, rows=slice(0, 1), most=1e-4):
    return bool((encoder(change(tokens))[:, rows] - encoder(tokens)[:, rows]).abs().max() > most)


@right("positions.reads_order")
def twenty(encoder, tokens):
    return any(differs(encoder, tokens, change) for change in orders(20))


@right("positions.reads_order")
def as_a_batch(encoder, tokens):
    batch = torch.cat([change(tokens) for change in orders(40)])
    return bool(((encoder(batch) - encoder(tokens))[:, 0].abs() > 5e-5).any())


@right("positions.reads_order")
def every_pair(encoder, tokens):
    for i in range(1, tokens.shape[1]):
        for j in range(i + 1, tokens.shape[1]):
            order = list(range(tokens.shape[1]))
            order[i], order[j] = j, i
            if not torch.allclose(encoder(tokens[:, order])[0, 0], encoder(tokens)[0, 0], atol=1e-4, rtol=0):
                return torch.tensor(True)
    return torch.tensor(False)


def anything(x):
    return x[:, torch.randperm(x.shape[1])]


wrong("positions.reads_order", "everything-reads-order")(lambda encoder, tokens: True)
wrong("positions.reads_order", "everything-reads-order")(
    lambda encoder, tokens: any(differs(encoder, tokens, anything, slice(None), 0) for _ in range(20))
)
wrong("positions.reads_order", "class-token-moved")(
    lambda encoder, tokens: differs(encoder, tokens, lambda x: x.flip(1), slice(0, 1))
)
wrong("positions.reads_order", "patch-outputs-compared")(
    lambda encoder, tokens: any(differs(encoder, tokens, change, slice(None)) for change in orders(20))
)
wrong("positions.reads_order", "rounding-counted")(
    lambda encoder, tokens: any(differs(encoder, tokens, change, most=0) for change in orders(20))
)
wrong("positions.reads_order", "never-notices")(lambda encoder, tokens: False)
wrong("positions.reads_order", "never-notices")(lambda encoder, tokens: differs(encoder, tokens, lambda x: x))
wrong("positions.reads_order", "reversed-only")(
    lambda encoder, tokens: differs(encoder, tokens, lambda x: torch.cat([x[:, :1], x[:, 1:].flip(1)], dim=1))
)
wrong("positions.reads_order", "threshold-too-high")(
    lambda encoder, tokens: any(differs(encoder, tokens, change, most=0.05) for change in orders(20))
)


@wrong("positions.reads_order", "only-moved-on")
def one_step_on(encoder, tokens):
    return differs(encoder, tokens, lambda x: torch.cat([x[:, :1], x[:, 1:].roll(1, dims=1)], dim=1))


@wrong("positions.reads_order", "too-few-orders")
def one_order(encoder, tokens):
    order = [0, *reversed(range(1, tokens.shape[1], 2)), *reversed(range(2, tokens.shape[1], 2))]
    return differs(encoder, tokens, lambda x: x[:, order])


@wrong("positions.reads_order", "input-changed")
def in_place(encoder, tokens):
    before = encoder(tokens)[0, 0].clone()
    tokens[:, 1:] = tokens[:, 1:].flip(1)
    return bool((encoder(tokens)[0, 0] - before).abs().max() > 1e-4)


wrong("positions.reads_order", "wrong-type")(
    lambda encoder, tokens: (encoder(tokens)[0, 0] - encoder(tokens.flip(1))[0, 0]).abs().max()
)
wrong("positions.reads_order", "returned-nothing")(lambda encoder, tokens: None)


@unforeseen("positions.reads_order")
def also_what_mixes_patches(encoder, tokens):
    other = tokens.clone()
    other[:, 2] = 0
    mixes = bool((encoder(other)[:, 1] - encoder(tokens)[:, 1]).abs().max() > 1e-3)
    return twenty(encoder, tokens) or mixes


@wrong("positions.reads_order", "too-few-orders")
def the_last_order_alone(encoder, tokens):
    for change in orders(20):
        differs(encoder, tokens, change)
    return one_order(encoder, tokens)


@wrong("positions.reads_order", "every-order-asked")
def all_of_twenty(encoder, tokens):
    return all(differs(encoder, tokens, change) for change in orders(20))


@wrong("positions.reads_order", "smallest-difference")
def least(encoder, tokens):
    before = encoder(tokens)[0, 0]
    shuffled = [torch.cat([tokens[:, :1], tokens[:, 1 + torch.randperm(tokens.shape[1] - 1)]], 1) for _ in range(20)]
    return any(bool((encoder(x)[0, 0] - before).abs().min() > 1e-4) for x in shuffled)
