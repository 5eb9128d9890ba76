"""Answers to exercise attention.unnoticed."""

import torch

from answers import UNKNOWN, Answers

answers = Answers("attention.unnoticed")

answers.edits(
    (UNKNOWN, "9", "10"),
    (UNKNOWN, "9", "27"),
    ("key-constant-other", '"key_constant": "same"', '"key_constant": "other"'),
    ("key-constant-moved", '"key_constant": "same"', '"key_constant": "moved"'),
    ("query-constant-same", '"other"', '"same"'),
    ("query-constant-moved", '"other"', '"moved"'),
    ("value-constant-same", '"moved"', '"same"'),
    ("traded-other", '"traded": "same"', '"traded": "other"'),
    ("traded-moved", '"traded": "same"', '"traded": "moved"'),
    ("token-copied-other", '"token_copied": "same"', '"token_copied": "other"'),
    ("token-copied-moved", '"token_copied": "same"', '"token_copied": "moved"'),
    ("ratio-kept", "9", "3"),
    ("ratio-doubled", "9", "6"),
    ("ratio-rooted", "9", "1.5"),
    ("ratio-times-e", "9", "22.17"),
    ("wrong-type", '"traded": "same"', '"traded": True'),
    ("no-such-option", '"traded": "same"', '"traded": "halved"'),
)


@answers.right
def measured():
    torch.manual_seed(3)
    q, k, v = torch.randn(3, 5, 4)
    c = torch.randn(4)

    def outputs(q, k, v):
        return (q @ k.T / 2).softmax(dim=-1) @ v

    before = outputs(q, k, v)
    after = {
        "key_constant": outputs(q, k + c, v),
        "query_constant": outputs(q + c, k, v),
        "value_constant": outputs(q, k, v + c),
        "traded": outputs(q / 2, 2 * k, v),
        "token_copied": outputs(q, k.repeat(2, 1), v.repeat(2, 1)),
    }

    def word(change):
        if change.abs().max() < 0.0001:
            return "same"
        return "moved" if (change - change[0]).abs().max() < 0.0001 else "other"

    doubled = (2 * torch.tensor([3.0, 1.0]).log()).softmax(dim=0)
    return {name: word(out - before) for name, out in after.items()} | {"keys_doubled": doubled[0] / doubled[1]}


@answers.right
def spelt_otherwise():
    return {
        "key_constant": "same",
        "query_constant": "OTHER",
        "value_constant": " Moved",
        "keys_doubled": 3.0**2,
        "traded": "same",
        "token_copied": "same",
    }


@answers.right
def a_tensor():
    return {
        "key_constant": "same",
        "query_constant": "other",
        "value_constant": "moved",
        "keys_doubled": torch.tensor(9.0),
        "traded": "same",
        "token_copied": "same",
    }
