"""Answers to exercise positions.reads_order."""

import torch

from answers import UNKNOWN, Answers

answers = Answers("positions.reads_order")

answers.edits(
    ("rounding-counted", "1e-4", "0"),
    ("never-notices", "encoder(shuffled)", "encoder(tokens)"),
    ("threshold-too-high", "1e-4", "0.05"),
    ("smallest-difference", "abs().max()", "abs().min()"),
    ("wrong-type", "return True", "return 1"),
    ("returned-nothing", "return False", "return None"),
)


@answers.right
def batch(encoder, tokens):
    orders = [torch.cat([torch.zeros(1, dtype=torch.long), 1 + torch.randperm(tokens.shape[1] - 1)]) for _ in range(40)]
    batch = torch.cat([tokens[:, order] for order in orders])
    return bool(((encoder(batch) - encoder(tokens))[:, 0].abs() > 5e-5).any())


@answers.right
def pairs(encoder, tokens):
    for i in range(1, tokens.shape[1]):
        for j in range(i + 1, tokens.shape[1]):
            order = list(range(tokens.shape[1]))
            order[i], order[j] = j, i
            if not torch.allclose(encoder(tokens[:, order])[0, 0], encoder(tokens)[0, 0], atol=1e-4, rtol=0):
                return torch.tensor(True)
    return torch.tensor(False)


def in_random_order(tokens):
    """The same tokens with the patches in a random order"""
    order = 1 + torch.randperm(tokens.shape[1] - 1)
    return torch.cat([tokens[:, :1], tokens[:, order]], dim=1)


def differences(encoder, tokens):
    """(20, D): how much the class output changes in 20 random orders"""
    after = torch.stack([encoder(in_random_order(tokens))[0, 0] for _ in range(20)])
    return after - encoder(tokens)[0, 0]


@answers.right
def largest_of_many(encoder, tokens):
    return differences(encoder, tokens).abs().amax() > 1e-4


@answers.wrong("answer-inverted")
def answer_inverted(encoder, tokens):
    return differences(encoder, tokens).abs().amax() < 1e-4


@answers.wrong("everything-reads-order")
def everything_reads_order(encoder, tokens):
    return True


@answers.wrong("other-tokens")
def other_tokens(encoder, tokens):
    return bool((encoder(torch.randn_like(tokens)) - encoder(tokens))[0, 0].abs().max() > 1e-4)


@answers.wrong("patches-lost")
def patches_lost(encoder, tokens):
    order = torch.randint(1, tokens.shape[1], (tokens.shape[1] - 1,))
    drawn = torch.cat([tokens[:, :1], tokens[:, order]], dim=1)
    return bool((encoder(drawn) - encoder(tokens))[0, 0].abs().max() > 1e-4)


@answers.wrong("class-token-moved")
def class_token_moved(encoder, tokens):
    return bool((encoder(tokens.flip(1)) - encoder(tokens))[0, 0].abs().max() > 1e-4)


@answers.wrong("patch-outputs-compared")
def patch_outputs_compared(encoder, tokens):
    return any((encoder(in_random_order(tokens)) - encoder(tokens)).abs().max() > 1e-4 for _ in range(20))


@answers.wrong("reversed-only")
def reversed_only(encoder, tokens):
    backwards = torch.cat([tokens[:, :1], tokens[:, 1:].flip(1)], dim=1)
    return bool((encoder(backwards) - encoder(tokens))[0, 0].abs().max() > 1e-4)


@answers.wrong("only-moved-on")
def only_moved_on(encoder, tokens):
    moved_on = torch.cat([tokens[:, :1], tokens[:, 1:].roll(1, dims=1)], dim=1)
    return bool((encoder(moved_on) - encoder(tokens))[0, 0].abs().max() > 1e-4)


@answers.wrong("patch-never-moved")
def patch_never_moved(encoder, tokens):
    for _ in range(20):
        order = 2 + torch.randperm(tokens.shape[1] - 2)
        shuffled = torch.cat([tokens[:, :2], tokens[:, order]], dim=1)
        if (encoder(shuffled) - encoder(tokens))[0, 0].abs().max() > 1e-4:
            return True
    return False


@answers.wrong("decrease-overlooked")
def decrease_overlooked(encoder, tokens):
    return differences(encoder, tokens).amax() > 1e-4


@answers.wrong("numbers-cancel")
def numbers_cancel(encoder, tokens):
    return differences(encoder, tokens).sum(dim=1).abs().amax() > 1e-4


@answers.wrong("one-number-overlooked")
def one_number_overlooked(encoder, tokens):
    return differences(encoder, tokens)[:, :6].abs().amax() > 1e-4


@answers.wrong("too-few-orders")
def too_few_orders(encoder, tokens):
    order = [0, *range(tokens.shape[1] - 1, 0, -2), *range(tokens.shape[1] - 2, 0, -2)]
    return bool((encoder(tokens[:, order]) - encoder(tokens))[0, 0].abs().max() > 1e-4)


@answers.wrong(UNKNOWN)
def lengths_compared(encoder, tokens):
    before = encoder(tokens)[0, 0].norm()
    return any((encoder(in_random_order(tokens))[0, 0].norm() - before).abs() > 1e-4 for _ in range(20))


@answers.wrong(UNKNOWN)
def every_order_must_differ(encoder, tokens):
    return all(differences(encoder, tokens).abs().amax(dim=1) > 1e-4)
