"""Answers to exercise further.parts."""

import torch
import torch.nn.functional as F
from torch import nn

from answers import UNKNOWN, Answers

answers = Answers("further.parts")
(faulty_parts,) = answers.given("faulty_parts")

answers.edits(
    ("not-scaled", "len(images)", "len(x)"),
    ("means-taken-for-sums", '"sum"', '"mean"'),
    ("wrong-loss", "+=", "="),
)


@answers.right
def means_times_shares(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y) * (len(x) / len(images))
        loss.backward()
        total += loss.item()
    optimiser.step()
    return total


@answers.right
def every_nth_image(model, images, labels, optimiser, parts):
    optimiser.zero_grad(set_to_none=False)
    total = 0.0
    for i in range(parts):
        x, y = images[i::parts], labels[i::parts]
        loss = nn.CrossEntropyLoss(reduction="sum")(model(x), y)
        (loss / len(images)).backward()
        total = total + float(loss.detach())
    optimiser.step()
    return total / len(images)


@answers.right
def gradients_by_hand(model, images, labels, optimiser, parts):
    parameters = list(model.parameters())
    sums = [torch.zeros_like(p) for p in parameters]
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.nll_loss(model(x).log_softmax(dim=-1), y, reduction="sum")
        sums = [s + g for s, g in zip(sums, torch.autograd.grad(loss, parameters), strict=True)]
        total += loss.item()
    for p, s in zip(parameters, sums, strict=True):
        p.grad = s / len(images)
    optimiser.step()
    return total / len(images)


@answers.wrong("still-faulty")
def unrepaired(model, images, labels, optimiser, parts):
    return faulty_parts(model, images, labels, optimiser, parts)


@answers.wrong("bugs-left")
def loss_repaired(model, images, labels, optimiser, parts):
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(images)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += loss.item()
    return total


@answers.wrong("cleared-each-part")
def cleared_each_part(model, images, labels, optimiser, parts):
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(images)
        optimiser.zero_grad()
        loss.backward()
        total += loss.item()
    optimiser.step()
    return total


@answers.wrong("step-each-part")
def step_each_part(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(images)
        loss.backward()
        optimiser.step()
        total += loss.item()
    return total


@answers.wrong("step-each-part")
def half_steps(model, images, labels, optimiser, parts):
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        optimiser.zero_grad()
        loss = F.cross_entropy(model(x), y)
        (loss / 2).backward()
        optimiser.step()
        total += loss.item() * len(x) / len(images)
    return total


@answers.wrong("no-step")
def no_step(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(images)
        loss.backward()
        total += loss.item()
    return total


@answers.wrong("moved-by-another")
def moved_by_another(model, images, labels, optimiser, parts):
    return means_times_shares(model, images, labels, torch.optim.SGD(model.parameters(), lr=0.1), parts)


@answers.wrong("several-steps")
def two_steps(model, images, labels, optimiser, parts):
    total = means_times_shares(model, images, labels, optimiser, parts)
    optimiser.step()
    return total


@answers.wrong("step-without-gradients")
def cleared_before_the_step(model, images, labels, optimiser, parts):
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(images)
        loss.backward()
        total += loss.item()
    optimiser.zero_grad()
    optimiser.step()
    return total


@answers.wrong("mode-changed")
def left_in_eval_mode(model, images, labels, optimiser, parts):
    total = means_times_shares(model, images, labels, optimiser, parts)
    model.eval()
    return total


@answers.wrong("model-not-used")
def model_not_used(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    loss = F.cross_entropy(images @ model.weight.T, labels)
    loss.backward()
    optimiser.step()
    return loss.item()


@answers.wrong("not-in-parts")
def not_in_parts(model, images, labels, optimiser, parts):
    return means_times_shares(model, images, labels, optimiser, 1)


@answers.wrong("more-parts-than-asked")
def one_image_a_part(model, images, labels, optimiser, parts):
    return means_times_shares(model, images, labels, optimiser, len(images))


@answers.wrong("parts-too-long")
def two_parts(model, images, labels, optimiser, parts):
    return means_times_shares(model, images, labels, optimiser, 2)


@answers.wrong("images-left-out")
def remainder_left_out(model, images, labels, optimiser, parts):
    size = len(images) // parts
    return means_times_shares(model, images[: size * parts], labels[: size * parts], optimiser, parts)


@answers.wrong("called-after-the-step")
def loss_after_the_step(model, images, labels, optimiser, parts):
    means_times_shares(model, images, labels, optimiser, parts)
    return F.cross_entropy(model(images), labels).item()


@answers.wrong("more-than-once")
def loss_before_the_parts(model, images, labels, optimiser, parts):
    with torch.no_grad():
        loss = F.cross_entropy(model(images), labels).item()
    means_times_shares(model, images, labels, optimiser, parts)
    return loss


@answers.wrong("more-than-once")
def each_part_twice(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        total += F.cross_entropy(model(x), y, reduction="sum").item() / len(images)
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(images)
        loss.backward()
    optimiser.step()
    return total


@answers.wrong("wrong-values")
def rounded_loss(model, images, labels, optimiser, parts):
    return round(means_times_shares(model, images, labels, optimiser, parts), 2)


@answers.wrong(UNKNOWN)
def twice_the_gradient(model, images, labels, optimiser, parts):
    optimiser.zero_grad()
    total = 0.0
    for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
        loss = F.cross_entropy(model(x), y, reduction="sum") / len(images)
        (2 * loss).backward()
        total += loss.item()
    optimiser.step()
    return total
