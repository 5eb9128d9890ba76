"""Answers to exercise attention.unnoticed."""

import torch

from answers import right, unforeseen, wrong

RIGHT = {
    "key_constant": "same",
    "query_constant": "other",
    "value_constant": "moved",
    "keys_doubled": 9,
    "traded": "same",
    "token_copied": "same",
}


@right("attention.unnoticed")
def as_words():
    return RIGHT


@right("attention.unnoticed")
def with_capitals():
    return {name: f" {word.title()}" if isinstance(word, str) else 3.0**2 for name, word in RIGHT.items()}


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
        "traded": outputs(q / 2, 2 * k, v),
        "token_copied": outputs(q, k.repeat(2, 1), v.repeat(2, 1)),
    }

    def word(change):
        if change.abs().max() < 1e-4:
            return "same"
        return "moved" if (change - change[0]).abs().max() < 1e-4 else "other"

    scores = torch.tensor([1.0, 0.0]) * torch.tensor(3.0).log()
    doubled = (2 * scores).softmax(dim=0)
    return {name: word(out - before) for name, out in after.items()} | {"keys_doubled": doubled[0] / doubled[1]}


for name, choice in (
    ("key_constant", "other"),
    ("key_constant", "moved"),
    ("query_constant", "same"),
    ("query_constant", "moved"),
    ("value_constant", "same"),
    ("value_constant", "other"),
    ("traded", "other"),
    ("token_copied", "other"),
):
    slug = f"{name.replace('_', '-')}-{choice}"
    wrong("attention.unnoticed", slug)(lambda name=name, choice=choice: RIGHT | {name: choice})
wrong("attention.unnoticed", "wrong-type")(lambda: RIGHT | {"traded": True})
wrong("attention.unnoticed", "no-such-option")(lambda: RIGHT | {"traded": "halved"})
for slug, number in (
    ("ratio-kept", 3),
    ("ratio-doubled", 6),
    ("ratio-halved", 1.5),
    ("factor-of-scores", 4),
    ("scores-tripled", 27),
):
    wrong("attention.unnoticed", slug)(lambda number=number: RIGHT | {"keys_doubled": number})
unforeseen("attention.unnoticed")(lambda: RIGHT | {"keys_doubled": 10})
