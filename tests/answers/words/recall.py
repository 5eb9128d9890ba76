"""Answers to exercise words.recall."""

import torch

from answers import UNKNOWN, Answers

answers = Answers("words.recall")

answers.edits(
    ("best-alone", "topk(k, dim=1)", "topk(1, dim=1)"),
    ("all-must-fit", "any(dim=1)", "all(dim=1)"),
    ("counted-not-shared", "float().mean()", "float().sum()"),
    ("wrong-dtype", "float()", "double()"),
)


@answers.right
def in_a_loop(cosines, true, k):
    found = 0
    for row, fits in zip(cosines.tolist(), true.tolist(), strict=True):
        best = sorted(range(len(row)), key=lambda image: -row[image])[:k]
        found += any(fits[image] for image in best)
    return torch.tensor(found / len(true))


@answers.right
def by_rank(cosines, true, k):
    kth = cosines.sort(dim=1, descending=True).values[:, k - 1 : k]
    return ((cosines >= kth) & true).any(1).to(torch.float32).mean()


@answers.right
def by_counting(cosines, true, k):
    places = cosines.argsort(dim=1, descending=True)[:, :k]
    fits = torch.stack([row[place] for row, place in zip(true, places, strict=True)])
    return fits.sum(dim=1).clamp(max=1).sum() / len(true)


@answers.wrong("sizes-for-cosines")
def sizes_for_cosines(cosines, true, k):
    places = cosines.abs().topk(k, dim=1).indices
    return true.gather(1, places).any(dim=1).float().mean()


@answers.wrong("only-possible-sentences")
def only_possible_sentences(cosines, true, k):
    possible = true.any(dim=1)
    places = cosines[possible].topk(k, dim=1).indices
    return true[possible].gather(1, places).any(dim=1).float().mean()


@answers.wrong("wrong-shape")
def one_for_each_sentence(cosines, true, k):
    places = cosines.topk(k, dim=1).indices
    return true.gather(1, places).any(dim=1).float()


@answers.wrong(UNKNOWN)
def chance(cosines, true, k):
    return true.float().mean()
