"""Answers to the exercises of chapter 07."""

import copy
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.training import parameter_groups, warmup_cosine

# ---- rate


@right("training.rate")
def with_two_lines(step, total_steps, warmup_steps, peak, lowest):
    if step < warmup_steps:
        return peak / warmup_steps * (step + 1)
    done = (step - warmup_steps) / (total_steps - warmup_steps)
    return lowest + (peak - lowest) * (1 + math.cos(math.pi * done)) / 2


@right("training.rate")
def with_weights(step, total, warm, peak, lowest):
    angle = torch.tensor(math.pi / 2 * max(0, step - warm) / (total - warm))
    falling = peak * angle.cos() ** 2 + lowest * angle.sin() ** 2
    return torch.minimum(torch.tensor(peak * (step + 1) / warm), falling) if step < warm else falling


@right("training.rate")
def with_numpy(step, total, warm, peak, lowest):
    table = np.concatenate(
        [
            np.linspace(0, peak, warm + 1)[1:],
            lowest + 0.5 * (peak - lowest) * (1 + np.cos(np.linspace(0, np.pi, total - warm + 1)[:-1])),
        ]
    )
    return table[step]


@right("training.rate")
def with_torchs_schedulers(step, total, warm, peak, lowest):
    if step < warm:
        return peak * warmup_cosine(step, total, warm / total)
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=peak)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, total - warm, lowest)
    for _ in range(step - warm):
        optimiser.step()
        cosine.step()
    return cosine.get_last_lr()[0]


def _rate(mistake, climb=True, angle=math.pi, done=None, out=None, start=1):
    done = done or (lambda step, total, warm: (step - warm) / (total - warm))
    out = out or (lambda share, peak, lowest: lowest + (peak - lowest) * share)

    @wrong("training.rate", mistake)
    def answer(step, total, warm, peak, lowest):
        if climb and step < warm:
            return peak * (step + start) / warm
        return out((1 + math.cos(angle * done(step, total, warm))) / 2, peak, lowest)

    answer.__name__ = mistake


_rate("whole-cosine", angle=2 * math.pi)
_rate("starts-at-zero", start=0)
_rate("no-warm-up", climb=False, done=lambda step, total, warm: step / total)
_rate("jump-after-warm-up", done=lambda step, total, warm: step / total)
_rate("never-falls-to-the-end", done=lambda step, total, warm: (step - warm) / total)
_rate("one-step-early", done=lambda step, total, warm: (step - warm) / (total - 1 - warm))
_rate("lowest-ignored", out=lambda share, peak, lowest: peak * share)
_rate("lowest-added", out=lambda share, peak, lowest: lowest + peak * share)
_rate("lowest-cut-off", out=lambda share, peak, lowest: max(peak * share, lowest))
_rate("cosine-upside-down", out=lambda share, peak, lowest: peak - (peak - lowest) * share)


@wrong("training.rate", "quarter-cosine")
def quarter(step, total, warm, peak, lowest):
    if step < warm:
        return peak * (step + 1) / warm
    return lowest + (peak - lowest) * math.cos(math.pi / 2 * (step - warm) / (total - warm))


@wrong("training.rate", "falls-in-a-line")
def line(step, total, warm, peak, lowest):
    if step < warm:
        return peak * (step + 1) / warm
    return peak + (lowest - peak) * (step - warm) / (total - warm)


@wrong("training.rate", "no-warm-up")
def at_the_peak(step, total, warm, peak, lowest):
    return peak if step < warm else with_two_lines(step, total, warm, peak, lowest)


@wrong("training.rate", "climbs-from-lowest")
def from_lowest(step, total, warm, peak, lowest):
    if step < warm:
        return lowest + (peak - lowest) * (step + 1) / warm
    return with_two_lines(step, total, warm, peak, lowest)


@wrong("training.rate", "peak-ignored")
def share_only(step, total, warm, peak, lowest):
    return warmup_cosine(step, total, warm / total)


@wrong("training.rate", "raised-error")
def no_such_function(step, total, warm, peak, lowest):
    return math.cosine(step)


@unforeseen("training.rate")
def squared(step, total, warm, peak, lowest):
    return with_two_lines(step, total, warm, peak, lowest) ** 2


# ---- step


@right("training.step")
def ten_lines(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.step()
    return loss.item()


@right("training.step")
def cleared_at_the_end(model, images, labels, optimiser, max_norm):
    model.train()
    log_p = model(images).log_softmax(dim=1)
    loss = -log_p[torch.arange(len(labels)), labels].mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(list(model.parameters()), max_norm)
    optimiser.step()
    model.zero_grad()
    return loss


@right("training.step")
def clipped_by_hand(model, images, labels, optimiser, max_norm):
    for module in model.modules():
        module.training = True
    loss = nn.CrossEntropyLoss()(model(images), labels)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    length = math.sqrt(sum(g.square().sum().item() for g in gradients))
    for p, g in zip(model.parameters(), gradients, strict=True):
        p.grad = g * min(1.0, max_norm / length)
    optimiser.step()
    return loss.detach().numpy()


@right("training.step")
def with_a_closure(model, images, labels, optimiser, max_norm):
    def closure():
        optimiser.zero_grad(set_to_none=False)
        loss = F.nll_loss(F.log_softmax(model(images), -1), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        return loss

    model.train()
    return float(optimiser.step(closure))


class Step:
    """A step with parts that can be left out or done wrongly."""

    def __init__(self, name, **changes):
        self.__name__ = name
        self.changes = changes

    def __call__(self, model, images, labels, optimiser, max_norm):
        do = dict(mode=True, zero=True, clip="before", softmax=False) | self.changes
        model.train(do["mode"])
        logits = model(images)
        loss = do.get("loss", F.cross_entropy)(logits.softmax(-1) if do["softmax"] else logits, labels)
        if do["zero"]:
            optimiser.zero_grad()
        loss.backward()
        clip = do.get("clip_with", nn.utils.clip_grad_norm_)
        if do["clip"] == "before":
            clip(list(model.parameters()), max_norm)
        optimiser.step()
        if do["clip"] == "after":
            clip(list(model.parameters()), max_norm)
        return loss.item()


def _one_by_one(parameters, max_norm):
    for p in parameters:
        p.grad = p.grad * min(1.0, max_norm / p.grad.norm().item())


def _unit(parameters, max_norm):
    length = torch.cat([p.grad.flatten() for p in parameters]).norm()
    for p in parameters:
        p.grad = p.grad / length * max_norm


for slug, changes in (
    ("softmax-twice", dict(softmax=True)),
    ("gradients-added-up", dict(zero=False)),
    ("not-clipped", dict(clip=None)),
    ("not-clipped", dict(clip="after")),
    ("several-faults", dict(softmax=True, zero=False)),
    ("several-faults", dict(softmax=True, clip="after")),
    ("several-faults", dict(zero=False, clip="after")),
    ("several-faults", dict(zero=False, clip=None)),
    ("several-faults", dict(softmax=True, zero=False, clip="after")),
    ("eval-mode-left-on", dict(mode=False)),
    ("clipped-number-by-number", dict(clip_with=nn.utils.clip_grad_value_)),
    ("clipped-one-by-one", dict(clip_with=_one_by_one)),
    ("short-gradients-lengthened", dict(clip_with=_unit)),
    ("limit-of-ones-own", dict(clip_with=lambda parameters, _: nn.utils.clip_grad_norm_(parameters, 1))),
    ("loss-summed", dict(loss=nn.CrossEntropyLoss(reduction="sum"))),
    ("uphill", dict(loss=lambda z, y: -F.cross_entropy(z, y))),
):
    wrong("training.step", slug)(Step(slug, **changes))


@wrong("training.step", "no-step")
def never_moves(model, images, labels, optimiser, max_norm):
    model.train()
    optimiser.zero_grad()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    return loss.item()


@wrong("training.step", "step-without-gradients")
def cleared_too_late(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimiser.zero_grad()
    optimiser.step()
    return loss.item()


@wrong("training.step", "step-without-gradients")
def no_backward(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.step()
    return loss.item()


@wrong("training.step", "step-before-backward")
def moves_first(model, images, labels, optimiser, max_norm):
    model.train()
    loss = F.cross_entropy(model(images), labels)
    optimiser.step()
    optimiser.zero_grad()
    loss.backward()
    return loss.item()


@wrong("training.step", "several-steps")
def image_by_image(model, images, labels, optimiser, max_norm):
    return sum(ten_lines(model, x[None], y[None], optimiser, max_norm) for x, y in zip(images, labels, strict=True))


@wrong("training.step", "loss-after-the-step")
def measured_late(model, images, labels, optimiser, max_norm):
    ten_lines(model, images, labels, optimiser, max_norm)
    return F.cross_entropy(model(images), labels).item()


@wrong("training.step", "loss-times-batch")
def returns_sum(model, images, labels, optimiser, max_norm):
    return ten_lines(model, images, labels, optimiser, max_norm) * len(images)


@wrong("training.step", "returned-nothing")
def returns_nothing(model, images, labels, optimiser, max_norm):
    ten_lines(model, images, labels, optimiser, max_norm)


@wrong("training.step", "model-not-used")
def a_copy(model, images, labels, optimiser, max_norm):
    return ten_lines(copy.deepcopy(model), images, labels, optimiser, max_norm)


@unforeseen("training.step")
def half_the_loss(model, images, labels, optimiser, max_norm):
    return Step("half", loss=lambda z, y: F.cross_entropy(z, y) / 2)(model, images, labels, optimiser, max_norm)


@unforeseen("training.step")
def another_number(model, images, labels, optimiser, max_norm):
    return ten_lines(model, images, labels, optimiser, max_norm) + 1


# ---- groups


@right("training.groups")
def of_the_package(model, weight_decay):
    return parameter_groups(model, weight_decay)


@right("training.groups")
def by_module(model, weight_decay):
    decay, rest = [], []
    for module in model.modules():
        for name, p in module._parameters.items():
            if p is not None:
                matrix = isinstance(module, (nn.Conv2d, nn.Linear)) and name == "weight"
                (decay if matrix else rest).append(p)
    return [{"params": rest, "weight_decay": 0}, {"params": decay, "weight_decay": weight_decay}]


@right("training.groups")
def a_group_each(model, weight_decay):
    matrices = {m.weight for m in model.modules() if isinstance(m, (nn.Linear, nn.modules.conv._ConvNd))}
    return [dict(params=p, weight_decay=weight_decay if p in matrices else 0.0, lr=1e-3) for p in model.parameters()]


@right("training.groups")
def with_full_names(model, weight_decay):
    names = {f"{n}.weight" for n, m in model.named_modules() if isinstance(m, (nn.Linear, nn.Conv2d))}
    named = list(model.named_parameters())
    return [
        {"params": (p for n, p in named if n in names), "weight_decay": weight_decay},
        {"params": (p for n, p in named if n not in names), "weight_decay": 0.0},
    ]


def _groups(mistake, rule, values=None):
    @wrong("training.groups", mistake)
    def answer(model, weight_decay):
        of = {id(p): m for m in model.modules() for p in m.parameters(recurse=False)}
        decay = [p for n, p in model.named_parameters() if rule(n, p, of[id(p)])]
        rest = [p for n, p in model.named_parameters() if not rule(n, p, of[id(p)])]
        high, low = values(weight_decay) if values else (weight_decay, 0.0)
        return [{"params": decay, "weight_decay": high}, {"params": rest, "weight_decay": low}]

    answer.__name__ = mistake


def _matrix(n, p, m):
    return isinstance(m, (nn.Linear, nn.Conv2d)) and p.ndim > 1


_groups("judged-by-name", lambda n, p, m: n.endswith("weight") and "norm" not in n)
_groups("judged-by-name", lambda n, p, m: not any(w in n for w in ("norm", "bias", "token", "table")))
_groups("everything-decays", lambda n, p, m: True)
_groups("nothing-decays", lambda n, p, m: False)
_groups("groups-swapped", lambda n, p, m: not _matrix(n, p, m))
_groups("groups-swapped", _matrix, lambda decay: (0.0, decay))
_groups("tables-decay", lambda n, p, m: p.ndim >= 2)
_groups("two-axes-decay", lambda n, p, m: p.ndim == 2)
_groups("biases-decay", lambda n, p, m: _matrix(n, p, m) or n.endswith("bias"))
_groups("biases-and-norms-decay", lambda n, p, m: p.ndim == 1 or _matrix(n, p, m))
_groups("norms-decay", lambda n, p, m: not isinstance(m, nn.Module) or n.endswith("weight"))
_groups("all-but-biases-decay", lambda n, p, m: not n.endswith("bias"))
_groups("convolution-forgotten", lambda n, p, m: isinstance(m, nn.Linear) and p.ndim == 2)
_groups("linear-forgotten", lambda n, p, m: isinstance(m, nn.Conv2d) and p.ndim == 4)
_groups("other-decay", _matrix, lambda decay: (0.05, 0.0))
_groups("other-decay", _matrix, lambda decay: (decay, decay / 10))


@wrong("training.groups", "parameters-missing")
def no_rest(model, weight_decay):
    return parameter_groups(model, weight_decay)[:1]


@wrong("training.groups", "parameters-missing")
def layers_only(model, weight_decay):
    layers = [m for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d, nn.LayerNorm))]
    weights = [m.weight for m in layers if not isinstance(m, nn.LayerNorm)]
    rest = [p for m in layers for p in m.parameters() if all(p is not w for w in weights)]
    return [{"params": weights, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


@wrong("training.groups", "in-two-places")
def twice(model, weight_decay):
    matrices = parameter_groups(model, weight_decay)[0]
    return [matrices, {"params": list(model.parameters()), "weight_decay": 0.0}]


@wrong("training.groups", "key-missing")
def default_decay(model, weight_decay):
    decay, rest = parameter_groups(model, weight_decay)
    return [decay, {"params": rest["params"]}]


@wrong("training.groups", "not-the-models-own")
def names_for_parameters(model, weight_decay):
    return [{"params": [name for name, _ in model.named_parameters()], "weight_decay": weight_decay}]


@wrong("training.groups", "not-the-models-own")
def copies(model, weight_decay):
    return parameter_groups(copy.deepcopy(model), weight_decay)


@unforeseen("training.groups")
def first_matrix_only(model, weight_decay):
    (first, *others), rest = (group["params"] for group in parameter_groups(model, weight_decay))
    norm = [p for m in model.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()]
    chosen = [first, *norm]
    rest = [p for p in (*others, *rest) if all(p is not q for q in chosen)]
    return [{"params": chosen, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


# ---- accuracy


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


@unforeseen("training.accuracy")
def halved(model, batches):
    return counted(model, batches) / 2


# ---- curves

CURVES = {
    "run_a": "softmax twice",
    "run_b": "divergence",
    "run_c": "healthy",
    "run_d": "over-fitting",
    "run_e": "under-fitting",
    "keep_d": 20,
}


@right("training.curves")
def diagnosed():
    return CURVES


@right("training.curves")
def in_capitals():
    return {k: f" {v.capitalize()} " if isinstance(v, str) else v for k, v in CURVES.items()}


@right("training.curves")
def in_another_order():
    return dict(reversed(CURVES.items()))


def _curves(mistake, **changes):
    wrong("training.curves", mistake)(lambda: CURVES | changes)


_curves("right-answers-overlooked", run_a="under-fitting")
_curves("floor-overlooked", run_a="healthy")
_curves("no-gap", run_a="over-fitting")
_curves("never-left-upwards", run_a="divergence")
_curves("falling-taken-for-learning", run_b="healthy")
_curves("first-epochs-overlooked", run_b="under-fitting")
_curves("loss-above-its-range", run_b="softmax twice")
_curves("harder-images-overlooked", run_c="under-fitting")
_curves("gap-the-other-way", run_c="over-fitting")
_curves("below-the-floor", run_c="softmax twice")
_curves("turn-overlooked", run_d="healthy")
_curves("one-loss-only", run_d="divergence")
_curves("training-loss-overlooked", run_d="under-fitting")
_curves("hardly-moved", run_e="healthy")
_curves("few-right-answers", run_e="softmax twice")
_curves("no-such-option", run_e="too few images")
_curves("wrong-type", run_e=3)


_curves("end-of-the-run", keep_d=100)
_curves("training-loss-chosen", keep_d=50)
_curves("stopped-too-early", keep_d=10)
_curves("place-for-epoch", keep_d=2)
unforeseen("training.curves")(lambda: CURVES | {"keep_d": 70})
