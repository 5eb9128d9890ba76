"""Answers to exercise training.step."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from answers import UNKNOWN, Answers

answers = Answers("training.step")
(faulty_step,) = answers.given("faulty_step")

answers.wrong("still-faulty")(faulty_step)
answers.edits(
    ("eval-mode-left-on", "model.train()", "model.eval()"),
    ("clipped-number-by-number", "grad_norm_", "grad_value_"),
    ("limit-of-ones-own", "(model.parameters(), max_norm)", "(model.parameters(), 1.0)"),
    (UNKNOWN, "F.cross", "-F.cross"),
    (UNKNOWN, "loss.item()", "-loss.item()"),
)


@answers.right
def closure(model, images, labels, optimiser, max_norm):
    def closure():
        optimiser.zero_grad(set_to_none=False)
        loss = F.nll_loss(F.log_softmax(model(images), -1), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        return loss

    model.train()
    return float(optimiser.step(closure))


@answers.right
def by_hand(model, images, labels, optimiser, max_norm):
    for module in model.modules():
        module.training = True
    loss = nn.CrossEntropyLoss()(model(images), labels)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    length = math.sqrt(sum(g.square().sum().item() for g in gradients))
    for p, g in zip(model.parameters(), gradients, strict=True):
        p.grad = g * min(1.0, max_norm / length)
    optimiser.step()
    return loss.item()


@answers.right
def cleared_at_the_end(model, images, labels, optimiser, max_norm):
    model.train()
    log_p = model(images).log_softmax(dim=1)
    loss = -log_p[range(len(labels)), labels].mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.step()
    model.zero_grad()
    return loss.tolist()


@answers.wrong("bugs-left")
def softmax_repaired(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimiser.step()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return loss.item()


@answers.wrong("bugs-left")
def clearing_repaired(model, images, labels, optimiser, max_norm):
    model.train()
    probabilities = model(images).softmax(dim=-1)
    loss = F.cross_entropy(probabilities, labels)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return loss.item()


@answers.wrong("gradients-added-up")
def gradients_added_up(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.step()
    return loss.item()


@answers.wrong("not-clipped")
def not_clipped(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.item()


@answers.wrong("no-step")
def no_step(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    return loss.item()


@answers.wrong("step-without-gradients")
def step_without_gradients(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.zero_grad()
    optimiser.step()
    return loss.item()


@answers.wrong("several-steps")
def several_steps(model, images, labels, optimiser, max_norm):
    model.train()
    for x, y in zip(images, labels, strict=True):
        loss = F.cross_entropy(model(x[None]), y[None])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimiser.step()
    return loss.item()


@answers.wrong("loss-after-the-step")
def loss_after_the_step(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.step()
    return F.cross_entropy(model(images), labels).item()
