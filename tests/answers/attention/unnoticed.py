"""Answers to exercise attention.unnoticed."""

import torch

from answers import right, unforeseen, wrong

RIGHT = {
    "key_constant": "same",
    "query_constant": "other",
    "value_constant": "moved",
    "keys_doubled": "other",
    "traded": "same",
    "token_copied": "same",
}


@right("attention.unnoticed")
def as_words():
    return RIGHT


@right("attention.unnoticed")
def with_capitals():
    return {name: f" {word.title()}" for name, word in RIGHT.items()}


@right("attention.unnoticed")
def measured():
    torch.manual_seed(3)
    q, k, v, c = torch.randn(5, 4), torch.randn(5, 4), torch.randn(5, 4), torch.randn(4)

    def outputs(q, k, v):
        return (q @ k.T / 2).softmax(dim=-1) @ v

    before = outputs(q, k, v)
    after = {
        "key_constant": outputs(q, k + c, v),
        "query_constant": outputs(q + c, k, v),
        "value_constant": outputs(q, k, v + c),
        "keys_doubled": outputs(q, 2 * k, v),
        "traded": outputs(q / 2, 2 * k, v),
        "token_copied": outputs(q, k.repeat(2, 1), v.repeat(2, 1)),
    }

    def word(change):
        if change.abs().max() < 1e-4:
            return "same"
        return "moved" if (change - change[0]).abs().max() < 1e-4 else "other"

    return {name: word(out - before) for name, out in after.items()}


for name, choice in (
    ("key_constant", "other"),
    ("key_constant", "moved"),
    ("query_constant", "same"),
    ("query_constant", "moved"),
    ("value_constant", "same"),
    ("value_constant", "other"),
    ("keys_doubled", "same"),
    ("keys_doubled", "moved"),
    ("traded", "other"),
    ("token_copied", "other"),
):
    slug = f"{name.replace('_', '-')}-{choice}"
    wrong("attention.unnoticed", slug)(lambda name=name, choice=choice: RIGHT | {name: choice})
wrong("attention.unnoticed", "wrong-type")(lambda: RIGHT | {"traded": True})
unforeseen("attention.unnoticed")(lambda: RIGHT | {"traded": "halved"})
