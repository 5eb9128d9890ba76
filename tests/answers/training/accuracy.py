"""Answers to exercise training.accuracy."""

import numpy as np
import torch

from answers import UNKNOWN, Answers

answers = Answers("training.accuracy")

answers.edits(
    (UNKNOWN, "correct = total = 0", "correct = total = 1"),
    (UNKNOWN, "correct +=", "correct ="),
    ("share-of-wrong-answers", "answers == labels", "answers != labels"),
    ("nothing-counted", "correct / total", "correct // total"),
    ("argmax-over-images", "dim=1", "dim=0"),
    ("raised-error", ".argmax(dim=1)", ".max(dim=1)"),
    ("mode-not-put-back", "model.train(was_training)", "model.train()"),
)


@answers.right
def at_once(model, batches):
    mode = model.training
    model.train(False)
    with torch.inference_mode():
        logits = model(torch.cat([x for x, _ in batches]))
    model.train(mode)
    return (logits.max(-1).indices == torch.cat([y for _, y in batches])).float().mean()


@answers.right
def image_by_image(model, batches):
    mode, hits = model.training, []
    model.eval()
    with torch.no_grad():
        for images, labels in batches:
            hits += [int(model(x[None])[0].argmax()) == int(y) for x, y in zip(images, labels, strict=True)]
    model.train(mode)
    return np.mean(hits)


@answers.right
@torch.no_grad()
def by_weighted_mean(model, batches):
    was_training = model.training
    model.eval()
    shares = torch.stack([(model(x).softmax(1).argmax(1) == y).double().mean() for x, y in batches])
    if was_training:
        model.train()
    sizes = torch.tensor([len(y) for _, y in batches])
    return (shares * sizes).sum() / sizes.sum()


@answers.wrong("train-mode-left-on")
@torch.no_grad()
def train_mode_left_on(model, batches):
    hits = [model(x).argmax(dim=1) == y for x, y in batches]
    return torch.cat(hits).float().mean().item()


@answers.wrong("outer-module-only")
@torch.no_grad()
def outer_module_only(model, batches):
    was_training = model.training
    model.training = False
    hits = [model(x).argmax(dim=1) == y for x, y in batches]
    model.training = was_training
    return torch.cat(hits).float().mean().item()


@answers.wrong("mode-not-put-back")
@torch.no_grad()
def put_back_outside_only(model, batches):
    was_training = model.training
    model.eval()
    hits = [model(x).argmax(dim=1) == y for x, y in batches]
    model.training = was_training
    return torch.cat(hits).float().mean().item()


@answers.wrong("gradients-kept")
def gradients_kept(model, batches):
    was_training = model.training
    model.eval()
    hits = [model(x).argmax(dim=1) == y for x, y in batches]
    model.train(was_training)
    return torch.cat(hits).float().mean().item()


@answers.wrong("parameters-frozen")
@torch.no_grad()
def parameters_frozen(model, batches):
    was_training = model.training
    model.eval().requires_grad_(False)
    hits = [model(x).argmax(dim=1) == y for x, y in batches]
    model.train(was_training)
    return torch.cat(hits).float().mean().item()


@answers.wrong(UNKNOWN)
@torch.no_grad()
def rounded(model, batches):
    was_training = model.training
    model.eval()
    hits = [model(x).argmax(dim=1) == y for x, y in batches]
    model.train(was_training)
    return round(torch.cat(hits).float().mean().item(), 2)
