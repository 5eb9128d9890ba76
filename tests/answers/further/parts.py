"""Answers to exercise further.parts."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, unforeseen, wrong


@right("further.parts")
def summed_and_divided(model, images, labels, optimiser, parts, cut=torch.chunk):
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(cut(images, parts), cut(labels, parts), strict=True):
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(images)
        loss.backward()
        total += loss.item()
    optimiser.step()
    return total


@right("further.parts")
def means_by_share(model, images, labels, optimiser, parts):
    losses = []
    for x, y in zip(images.tensor_split(parts), labels.tensor_split(parts), strict=True):
        loss = nn.CrossEntropyLoss()(model(x), y) * (len(y) / len(labels))
        loss.backward()
        losses.append(loss.detach())
    optimiser.step()
    optimiser.zero_grad()
    return torch.stack(losses).sum()


@right("further.parts")
def gradients_by_hand(model, images, labels, optimiser, parts):
    parameters = list(model.parameters())
    sums, total = [torch.zeros_like(p) for p in parameters], 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.nll_loss(model(x).log_softmax(dim=-1), y, reduction="sum")
        sums = [s + g for s, g in zip(sums, torch.autograd.grad(loss, parameters), strict=True)]
        total += loss.item()
    for p, s in zip(parameters, sums, strict=True):
        p.grad = s / len(images)
    optimiser.step()
    return total / len(images)


@wrong("further.parts", "more-parts-than-asked")
def one_at_a_time(model, images, labels, optimiser, parts):
    model.zero_grad()
    total = 0.0
    for x, y in zip(images.split(1), labels.split(1), strict=True):
        loss = F.cross_entropy(model(x), y) / len(images)
        loss.backward()
        total += float(loss)
    optimiser.step()
    return total


class Parts:
    """A step in parts, with things that can be done wrongly."""

    def __init__(self, name, **changes):
        self.__name__ = name
        self.do = dict(clear="once", move="once", scale="share", loss=None, drop=False) | changes

    def __call__(self, model, images, labels, optimiser, parts):
        do, losses = self.do, []
        pieces = list(zip(images.chunk(parts), labels.chunk(parts), strict=True))
        if do["drop"]:
            pieces = pieces[:-1]
        if do["clear"] == "once":
            optimiser.zero_grad()
        for x, y in pieces:
            if do["clear"] == "each":
                optimiser.zero_grad()
            mean = F.cross_entropy(model(x), y)
            scale = {
                "share": len(x) / len(images),
                "none": 1.0,
                "equal": 1 / parts,
                "sum": len(x),
                "by parts": len(x) / parts,
                "over length": 1 / len(x),
                "doubled": 2 * len(x) / len(images),
            }[do["scale"]]
            (mean * scale).backward()
            losses.append(mean.item() * len(x) / len(images))
            if do["move"] == "each":
                optimiser.step()
        if do["move"] == "once":
            optimiser.step()
        return do["loss"](losses) if do["loss"] else sum(losses)


for slug, changes in (
    ("not-scaled", dict(scale="none")),
    ("mean-of-means", dict(scale="equal")),
    ("loss-summed", dict(scale="sum")),
    ("divided-by-parts", dict(scale="by parts")),
    ("divided-twice", dict(scale="over length")),
    ("cleared-each-part", dict(clear="each")),
    ("not-scaled-and-cleared-each-part", dict(clear="each", scale="none")),
    ("mean-of-means-and-cleared-each-part", dict(clear="each", scale="equal")),
    ("never-cleared", dict(clear="never")),
    ("mean-of-means-and-never-cleared", dict(clear="never", scale="equal")),
    ("step-each-part", dict(move="each")),
    ("step-each-part", dict(move="each", clear="each", scale="none")),
    ("no-step", dict(move="never")),
    ("images-left-out", dict(drop=True)),
    ("wrong-loss", dict(loss=lambda losses: losses[-1])),
    ("returned-nothing", dict(loss=lambda losses: None)),
    ("wrong-loss", dict(loss=lambda losses: losses[0])),
    ("wrong-loss", dict(loss=lambda losses: sum(losses) / len(losses))),
    ("wrong-values", dict(loss=lambda losses: 0.5)),
    ("wrong-type", dict(loss=lambda losses: losses)),
):
    wrong("further.parts", slug)(Parts(slug, **changes))


@wrong("further.parts", "not-in-parts")
def all_at_once(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimiser.step()
    return loss.item()


@wrong("further.parts", "model-not-used")
def another_model(model, images, labels, optimiser, parts):
    return summed_and_divided(nn.Linear(images.shape[1], 9), images, labels, optimiser, parts)


@wrong("further.parts", "called-after-the-step")
def looked_at_again(model, images, labels, optimiser, parts):
    total = summed_and_divided(model, images, labels, optimiser, parts)
    for x in images.chunk(parts):
        model(x)
    return total


@wrong("further.parts", "step-without-gradients")
def cleared_before_the_step(model, images, labels, optimiser, parts):
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
    optimiser.zero_grad()
    optimiser.step()
    return loss.item()


@wrong("further.parts", "parts-too-long")
def two_halves(model, images, labels, optimiser, parts):
    return summed_and_divided(model, images, labels, optimiser, 2)


@wrong("further.parts", "uphill")
def sign_lost(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = -F.cross_entropy(model(x), y, reduction="sum") / len(images)
        loss.backward()
    optimiser.step()
    return loss.item()


for slug, cut in (
    ("more-parts-than-asked", lambda t, parts: t.chunk(4)),
    ("more-parts-than-asked", lambda t, parts: t.split(3)),
    ("parts-too-long", lambda t, parts: t.chunk(2)),
    ("images-left-out", lambda t, parts: t[: len(t) // parts * parts].chunk(parts)),
):

    @wrong("further.parts", slug)
    def cut_otherwise(model, images, labels, optimiser, parts, cut=cut):
        return summed_and_divided(model, images, labels, optimiser, parts, cut)


@right("further.parts")
def every_kth_image(model, images, labels, optimiser, parts):
    optimiser.zero_grad(set_to_none=False)
    total = torch.zeros(())
    for first in range(parts):
        x, y = images[first::parts], labels[first::parts]
        loss = F.cross_entropy(model(x), y) * len(x) / len(images)
        loss.backward()
        total = total + loss.detach()
    optimiser.step()
    return total


@wrong("further.parts", "graph-returned")
def with_its_graph(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(images)
        loss.backward()
        total = total + loss
    optimiser.step()
    return total


@wrong("further.parts", "called-after-the-step")
def loss_computed_again(model, images, labels, optimiser, parts):
    summed_and_divided(model, images, labels, optimiser, parts)
    return F.cross_entropy(model(images), labels).item()


@wrong("further.parts", "more-than-once")
def loss_computed_before(model, images, labels, optimiser, parts):
    with torch.no_grad():
        loss = F.cross_entropy(model(images), labels).item()
    summed_and_divided(model, images, labels, optimiser, parts)
    return loss


@wrong("further.parts", "several-steps")
def two_steps(model, images, labels, optimiser, parts):
    loss = summed_and_divided(model, images, labels, optimiser, parts)
    optimiser.step()
    return loss


@wrong("further.parts", "rate-changed")
def smaller_rate(model, images, labels, optimiser, parts):
    optimiser.param_groups[0]["lr"] /= parts
    return summed_and_divided(model, images, labels, optimiser, parts)


@wrong("further.parts", "mode-changed")
def in_evaluation_mode(model, images, labels, optimiser, parts):
    model.eval()
    return summed_and_divided(model, images, labels, optimiser, parts)


@wrong("further.parts", "moved-by-another")
def with_an_optimiser_of_its_own(model, images, labels, optimiser, parts):
    return summed_and_divided(model, images, labels, torch.optim.SGD(model.parameters(), lr=0.1), parts)


@wrong("further.parts", "wrong-values")
def loss_rounded(model, images, labels, optimiser, parts):
    return round(summed_and_divided(model, images, labels, optimiser, parts), 2)


@wrong("further.parts", "backward-through-the-sum")
def sum_so_far(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        total = total + F.cross_entropy(model(x), y, reduction="sum") / len(images)
        total.backward(retain_graph=True)
    optimiser.step()
    return total.item()


@wrong("further.parts", "share-inverted")
def whole_over_part(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y) * len(images) / len(x)
        loss.backward()
    optimiser.step()
    return loss.item()


@wrong("further.parts", "wrong-loss")
def share_counted_twice(model, images, labels, optimiser, parts):
    means = [F.cross_entropy(model(x), y) for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True)]
    shares = [len(x) / len(images) for x in images.chunk(parts)]
    optimiser.zero_grad()
    sum(share * mean for share, mean in zip(shares, means, strict=True)).backward()
    optimiser.step()
    return sum(share**2 * mean.item() for share, mean in zip(shares, means, strict=True))


unforeseen("further.parts")(Parts("twice_the_gradient", scale="doubled"))


@unforeseen("further.parts")
def clipped(model, images, labels, optimiser, parts):
    weights = copy.deepcopy(model.state_dict())
    total = summed_and_divided(model, images, labels, optimiser, parts)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(weights[name] + (p - weights[name]).clamp(-0.01, 0.01))
    return total
