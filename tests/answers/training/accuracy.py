"""Answers to exercise training.accuracy."""

import numpy as np
import torch

from answers import right, unforeseen, wrong


@right("training.accuracy")
@torch.no_grad()
def counted(model, batches):
    was_training = model.training
    model.eval()
    right, total = 0, 0
    for images, labels in batches:
        right += (model(images).argmax(dim=1) == labels).sum().item()
        total += len(labels)
    model.train(was_training)
    return right / total


@right("training.accuracy")
def all_at_once(model, batches):
    mode = model.training
    model.train(False)
    with torch.inference_mode():
        logits = model(torch.cat([x for x, _ in batches]))
    model.train(mode)
    return (logits.max(-1).indices == torch.cat([y for _, y in batches])).float().mean()


@right("training.accuracy")
def weighted_means(model, batches):
    mode, total = model.training, sum(len(y) for _, y in batches)
    model.eval()
    try:
        with torch.no_grad():
            shares = [((model(x).softmax(1).argmax(1) == y).double().mean().item(), len(y)) for x, y in batches]
    finally:
        model.train(mode)
    return sum(share * size / total for share, size in shares)


@right("training.accuracy")
def image_by_image_counted(model, batches):
    mode = model.training
    model.eval()
    hits = []
    with torch.no_grad():
        for images, labels in batches:
            hits += [
                int(model(x[None])[0].tolist().index(model(x[None]).max().item()) == y)
                for x, y in zip(images, labels, strict=True)
            ]
    model.train(mode)
    return np.mean(hits)


def _accuracy(mistake, combine, axis=1):
    @wrong("training.accuracy", mistake)
    @torch.no_grad()
    def answer(model, batches):
        mode = model.training
        model.eval()
        try:
            hits = [(model(x).argmax(dim=axis) == y).float() for x, y in batches]
        finally:
            model.train(mode)
        return combine(hits)

    answer.__name__ = mistake


_accuracy("mean-of-batches", lambda hits: torch.stack([h.mean() for h in hits]).mean())
_accuracy("mean-of-batches", lambda hits: sum(h.mean().item() for h in hits) / len(hits))
_accuracy("last-batch-only", lambda hits: hits[-1].mean())
_accuracy("first-batch-only", lambda hits: hits[0].mean().item())
_accuracy("last-batch-left-out", lambda hits: torch.cat(hits[:-1]).mean().item())
_accuracy("short-batch-counted-as-full", lambda hits: torch.cat(hits).sum().item() / (len(hits) * len(hits[0])))
_accuracy("divided-by-batches", lambda hits: torch.cat(hits).sum().item() / len(hits))
_accuracy("divided-by-last-batch", lambda hits: torch.cat(hits).sum().item() / len(hits[-1]))
_accuracy("not-divided", lambda hits: torch.cat(hits).sum().item())
_accuracy("not-divided", lambda hits: int(torch.cat(hits).sum()))
_accuracy("percent", lambda hits: 100 * torch.cat(hits).mean().item())
_accuracy("share-of-wrong-answers", lambda hits: 1 - torch.cat(hits).mean().item())
_accuracy("best-batch-only", lambda hits: max(h.mean().item() for h in hits))
_accuracy("first-batch-left-out", lambda hits: torch.cat(hits[1:]).mean().item())
_accuracy("right-answers-forgotten", lambda hits: hits[-1].sum().item() / len(torch.cat(hits)))
_accuracy("shares-added-up", lambda hits: sum(h.mean().item() for h in hits))
_accuracy("nothing-counted", lambda hits: int(torch.cat(hits).sum()) // len(torch.cat(hits)))
_accuracy("rounded", lambda hits: round(torch.cat(hits).mean().item(), 2))
_accuracy("returned-nothing", lambda hits: None)
_accuracy("wrong-type", lambda hits: torch.cat(hits))
_accuracy("argmax-over-images", lambda hits: torch.cat(hits).mean().item(), axis=0)


@wrong("training.accuracy", "train-mode-left-on")
@torch.no_grad()
def dropout_on(model, batches):
    return sum((model(x).argmax(1) == y).sum().item() for x, y in batches) / sum(len(y) for _, y in batches)


@wrong("training.accuracy", "gradients-kept")
def with_gradients(model, batches):
    mode = model.training
    model.eval()
    hits = torch.cat([model(x).argmax(1) == y for x, y in batches])
    model.train(mode)
    return hits.double().mean().item()


@wrong("training.accuracy", "mode-not-put-back")
@torch.no_grad()
def left_in_eval(model, batches):
    model.eval()
    return torch.cat([model(x).argmax(1) == y for x, y in batches]).double().mean().item()


@wrong("training.accuracy", "mode-not-put-back")
def always_train_after(model, batches):
    share = counted(model, batches)
    model.train()
    return share


@wrong("training.accuracy", "gradients-left")
def gradients_left_off(model, batches):
    torch.set_grad_enabled(False)
    return counted(model, batches)


@wrong("training.accuracy", "parameters-frozen")
def freezes(model, batches):
    model.requires_grad_(False)
    return counted(model, batches)


@wrong("training.accuracy", "compared-with-no-tensor")
@torch.no_grad()
def the_pair_of_max(model, batches):
    model.eval()
    return sum((model(x).max(dim=1) == y).sum().item() for x, y in batches) / sum(len(y) for _, y in batches)


@unforeseen("training.accuracy")
def halved(model, batches):
    return counted(model, batches) / 2


@wrong("training.accuracy", "every-pair-compared")
@torch.no_grad()
def a_column_of_answers(model, batches):
    was = model.training
    model.eval()
    hits = sum((model(x).argmax(dim=1, keepdim=True) == y).sum().item() for x, y in batches)
    model.train(was)
    return hits / sum(len(y) for _, y in batches)


@wrong("training.accuracy", "mean-probability")
@torch.no_grad()
def sure_of_the_right_class(model, batches):
    was = model.training
    model.eval()
    shares = torch.cat([model(x).softmax(dim=1)[range(len(y)), y] for x, y in batches])
    model.train(was)
    return shares.mean().item()
