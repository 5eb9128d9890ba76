"""Answers to exercise pretrained.qkv."""

import torch
from einops import pack, rearrange

from answers import right, unforeseen, wrong


@right("pretrained.qkv")
def joined(query, key, value):
    return torch.cat([query, key, value], dim=0)


@right("pretrained.qkv")
def filled(query, key, value):
    width = len(query)
    result = query.new_empty(3 * width, *query.shape[1:])
    for i, part in enumerate((query, key, value)):
        result[i * width : (i + 1) * width] = part
    return result


@right("pretrained.qkv")
def stacked_and_flattened(query, key, value):
    return torch.stack([query, key, value]).flatten(0, 1)


@right("pretrained.qkv")
def packed(query, key, value):
    return pack([query, key, value], "* d" if query.ndim == 2 else "*")[0]


@right("pretrained.qkv")
def rearranged(query, key, value):
    return rearrange([query, key, value], "part row ... -> (part row) ...")


for _order in ("qvk", "kqv", "kvq", "vqk", "vkq"):

    @wrong("pretrained.qkv", f"order-{_order}")
    def in_another_order(query, key, value, order=_order):
        return torch.cat([{"q": query, "k": key, "v": value}[part] for part in order])


@wrong("pretrained.qkv", "side-by-side")
def beside(query, key, value):
    return torch.hstack([query, key, value])


@wrong("pretrained.qkv", "rows-alternate")
def row_by_row(query, key, value):
    return torch.stack([query, key, value], dim=1).reshape(-1, *query.shape[1:])


@wrong("pretrained.qkv", "columns-alternate")
def number_by_number(query, key, value):
    return torch.stack([query, key, value], dim=-1).reshape(3 * len(query), *query.shape[1:])


@wrong("pretrained.qkv", "transposed")
def each_turned(query, key, value):
    return torch.cat([part.t() for part in (query, key, value)])  # t() leaves a vector as it is


@wrong("pretrained.qkv", "transposed-after")
def turned_at_the_end(query, key, value):
    return torch.cat([query, key, value]).t()


@wrong("pretrained.qkv", "stacked")
def one_axis_more(query, key, value):
    return torch.stack((query, key, value))


@wrong("pretrained.qkv", "added")
def summed(query, key, value):
    return query + key + value


@wrong("pretrained.qkv", "gradient-cut")
def detached(query, key, value):
    return torch.cat([query, key, value]).detach()


@wrong("pretrained.qkv", "wrong-type")
def left_apart(query, key, value):
    return query, key, value


@wrong("pretrained.qkv", "raised-error")
def weights_only(query, key, value):
    return torch.cat([query[:, :], key[:, :], value[:, :]])


@unforeseen("pretrained.qkv")
def scaled(query, key, value):
    return torch.cat([query / len(query) ** 0.5, key, value])
