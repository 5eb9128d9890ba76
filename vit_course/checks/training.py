"""Checks of chapter 07: the schedule, a step, decay groups, the evaluation, curves."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools import Mistake, call, describe, same_answers, same_function, same_values


@exercise("The rate of every step", difficulty=2, minutes=8)
def rate(answer, draw):
    """`answer(step, total_steps, warmup_steps, peak, lowest)` -> the learning rate at the step, a float."""
    draws = []
    for _ in range(2):
        warmup, rest = draw.sizes(2, 4, 9)
        draws.append((warmup + rest + 3, warmup, draw.choose([0.5, 0.8, 1.2]), draw.choose([0.1, 0.15])))

    def all_steps(function):
        def rates(total_steps, warmup_steps, peak, lowest):
            """(step,)"""
            return torch.tensor(
                [_real(function(s, total_steps, warmup_steps, peak, lowest)) for s in range(total_steps)]
            )

        return rates

    def variant(climb=lambda step, warm: (step + 1) / warm, fall=None, span=None, between=None):
        fall = fall or (lambda x: 0.5 * (1 + math.cos(math.pi * x)))
        span = span or (lambda step, total, warm: (step - warm) / (total - warm))
        between = between or (lambda share, peak, lowest: lowest + share * (peak - lowest))

        def one(step, total, warm, peak, lowest):
            if climb and step < warm:
                return peak * climb(step, warm)
            return between(fall(span(step, total, warm)), peak, lowest)

        return all_steps(one)

    def from_lowest(step, total, warm, peak, lowest):
        share = (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))
        return lowest + share * (peak - lowest)

    same_function(
        all_steps(answer),
        variant(),
        draws,
        axes="(step,)",
        mistakes=[
            Mistake(
                "whole-cosine",
                "This runs through a whole cosine: the rate falls to the lowest and climbs back to the peak.",
                variant(fall=lambda x: 0.5 * (1 + math.cos(2 * math.pi * x))),
            ),
            Mistake(
                "quarter-cosine",
                "This is a quarter of a cosine: the rate is still falling steeply when the run ends.",
                variant(fall=lambda x: math.cos(math.pi * x / 2)),
            ),
            Mistake(
                "falls-in-a-line",
                "After the warm-up the rate falls in a straight line.",
                variant(fall=lambda x: 1 - x),
            ),
            Mistake(
                "cosine-upside-down",
                "The cosine is upside down: after the warm-up the rate climbs from the lowest.",
                variant(fall=lambda x: 0.5 * (1 - math.cos(math.pi * x))),
            ),
            Mistake(
                "no-warm-up",
                "There is no climb: the first step already has the peak rate.",
                variant(climb=None, span=lambda step, total, warm: step / total),
            ),
            Mistake(
                "no-warm-up",
                "There is no climb: the first step already has the peak rate.",
                variant(climb=lambda step, warm: 1),
            ),
            Mistake(
                "starts-at-zero",
                "The first step has rate 0, so it computes gradients and moves nothing.",
                variant(climb=lambda step, warm: step / warm),
            ),
            Mistake(
                "jump-after-warm-up",
                "The rate jumps down where the warm-up ends: the cosine had been running since step 0.",
                variant(span=lambda step, total, warm: step / total),
            ),
            Mistake(
                "never-falls-to-the-end",
                "The cosine is stretched over all steps, so the run ends before it has come down.",
                variant(span=lambda step, total, warm: (step - warm) / total),
            ),
            Mistake(
                "one-step-early",
                "The rate is at its lowest one step too early: the last step already has it.",
                variant(span=lambda step, total, warm: (step - warm) / (total - warm - 1)),
            ),
            Mistake(
                "lowest-ignored",
                "The cosine comes down to 0 and passes the lowest rate.",
                variant(between=lambda share, peak, lowest: share * peak),
            ),
            Mistake(
                "lowest-added",
                "The lowest rate is added on top, so the rate is above the peak after the warm-up.",
                variant(between=lambda share, peak, lowest: lowest + share * peak),
            ),
            Mistake(
                "lowest-cut-off",
                "The cosine comes down to 0 and is cut off at the lowest rate: its last part is a flat line.",
                variant(between=lambda share, peak, lowest: max(lowest, share * peak)),
            ),
            Mistake(
                "climbs-from-lowest",
                "The climb begins at the lowest rate, which belongs to the end of the run.",
                all_steps(from_lowest),
            ),
            Mistake(
                "peak-ignored",
                "This is the share of the peak: the peak itself has no part in it.",
                all_steps(lambda s, t, w, p, low: _share(s, t, w)),
            ),
        ],
    )


@exercise("A training step, mended", difficulty=2, minutes=10)
def step(answer, draw):
    """`answer(model, images, labels, optimiser, max_norm)` moves the weights once -> the loss, a float."""
    draws = []
    for _ in range(2):
        classes, features, batch = draw.sizes(3, 3, 9)
        labels = draw.permutation(3 * batch).reshape(3, batch) % classes
        # The gradients of the first two batches are longer than the limit, even where a second softmax has
        # flattened them; that of the last is shorter, even where it is summed.
        scale = torch.tensor([10.0, 7.0, 0.02])[:, None, None]
        draws.append((scale * draw.normal(3, batch, features), labels, 0.1 * draw.normal(classes, features)))

    def reference(images, labels, weight):
        return _weights_after_each(_step(), images, labels, weight)

    images, labels, weight = draws[0]
    _one_step(answer, images[0], labels[0], weight)
    same_function(
        lambda *arguments: _weights_after_each(answer, *arguments),
        reference,
        draws,
        axes="(step, K, D)",
        differentiable=False,
        mistakes=[
            Mistake(slug, sentence, lambda *arguments, f=function: _weights_after_each(f, *arguments))
            for slug, sentence, function in _STEPS
        ],
    )
    _returned_loss(answer, images[0], labels[0], weight)


@exercise("Which parameters decay, whatever their names", difficulty=2, minutes=12)
def groups(answer, draw):
    """`answer(model, weight_decay)` -> a list of dicts for AdamW: matrices of Linear and Conv2d decay, the rest not."""
    for names in (_PLAIN, _MISLEADING):
        patch, channels, tokens, width, classes = draw.sizes(5)
        model = _Named(names, patch, channels, tokens, width, classes)
        weight_decay = draw.choose([0.03, 0.07, 0.3])
        found = _decay_of_each(call(answer, model, weight_decay), model)
        misplaced = [entry for entry in found if entry[2] != (weight_decay if entry[0] in _MATRICES else 0)]
        if misplaced:
            _name_the_mistake(found, misplaced, weight_decay, names is _MISLEADING)


@exercise("The accuracy on a data set", difficulty=2, minutes=10)
def accuracy(answer, draw):
    """`answer(model, batches)` -> the share of right answers over a list of (images, labels), a float."""
    draws = []
    for _ in range(3):
        classes, rows, columns, batch = draw.sizes(4, 5, 9)
        model = Classifier(draw.normal(classes, rows * columns))
        right = (batch // 2, batch // 2 + 1, draw.choose([2, 4]))
        sizes = (batch, batch, right[2])  # the short one is right throughout, so that a mean of means shows
        batches = []
        for size, share in zip(sizes, right, strict=True):
            images = draw.normal(size, 1, rows, columns)
            labels = model.eval()(images).argmax(dim=1)
            labels[share:] = (labels[share:] + 2) % classes
            order = draw.permutation(size)
            batches.append((images[order], labels[order]))
        draws.append((model, batches))

    model, batches = draws[0]
    for training in (True, False):
        model.train(training)
        model.seen.clear()
        try:
            call(answer, model, batches)
        except Wrong as wrong:
            if wrong.mistake != "raised-error":
                raise
            break  # the error may be that of a mistake below
        if any(was_training for was_training, _ in model.seen):
            raise Wrong(
                "train-mode-left-on", "The model computed in training mode, so dropout had a part in its answers."
            )
        if any(gradients for _, gradients in model.seen):
            raise Wrong("gradients-kept", "The model computed with gradients on, which costs memory for nothing.")
        if model.training != training:
            was, now = ("training", "evaluation")[:: 1 if training else -1]
            raise Wrong(
                "mode-not-put-back",
                f"The model came in {was} mode and is in {now} mode after the call.",
                [f"Expected: model.training is {training}", f"Received: model.training is {model.training}"],
            )

    def counted(combine):
        def share_right(model, batches):
            model.eval()
            return combine([((model(x).argmax(dim=1) == y).sum().item(), len(y)) for x, y in batches])

        return share_right

    def over_batch(model, batches):
        model.eval()
        return sum((model(x).argmax(dim=0) == y).sum().item() for x, y in batches) / sum(len(y) for _, y in batches)

    same_values(
        lambda model, batches: _real(answer(model, batches)),
        counted(lambda c: sum(right for right, _ in c) / sum(size for _, size in c)),
        draws,
        mistakes=[
            Mistake(
                "mean-of-batches",
                "This is the mean of the batches' accuracies: an image of the short batch counts more than another.",
                counted(lambda c: sum(right / size for right, size in c) / len(c)),
            ),
            Mistake(
                "last-batch-only",
                "Only the last batch has a part in the result.",
                counted(lambda c: c[-1][0] / c[-1][1]),
            ),
            Mistake(
                "first-batch-only",
                "Only the first batch has a part in the result.",
                counted(lambda c: c[0][0] / c[0][1]),
            ),
            Mistake(
                "last-batch-left-out",
                "The last, shorter batch has no part in the result.",
                counted(lambda c: sum(right for right, _ in c[:-1]) / sum(size for _, size in c[:-1])),
            ),
            Mistake(
                "short-batch-counted-as-full",
                "The right answers are divided by more images than there are: the last batch is not full.",
                counted(lambda c: sum(right for right, _ in c) / (len(c) * c[0][1])),
            ),
            Mistake(
                "divided-by-batches",
                "The right answers are divided by the number of batches.",
                counted(lambda c: sum(right for right, _ in c) / len(c)),
            ),
            Mistake(
                "divided-by-last-batch",
                "The right answers of all batches are divided by the images of the last one.",
                counted(lambda c: sum(right for right, _ in c) / c[-1][1]),
            ),
            Mistake(
                "not-divided",
                "This is the number of right answers, not their share.",
                counted(lambda c: sum(right for right, _ in c)),
            ),
            Mistake(
                "percent",
                "This is a percentage where a share between 0 and 1 is expected.",
                counted(lambda c: 100 * sum(right for right, _ in c) / sum(size for _, size in c)),
            ),
            Mistake(
                "share-of-wrong-answers",
                "This is the share of wrong answers.",
                counted(lambda c: 1 - sum(right for right, _ in c) / sum(size for _, size in c)),
            ),
            Mistake(
                "argmax-over-images",
                "The largest number is looked for among the images of a batch, not among the classes of an image.",
                over_batch,
            ),
        ],
    )  # fmt: skip


@exercise("Five curves", difficulty=2, minutes=8)
def curves(answer, draw, parts):
    """`answer()` -> {"run_a", ... "run_e", "keep_d"}: one of five options each, and an epoch."""
    # What the runs were: a softmax as last layer; rate 1 without warm-up and clipping; shifts and dropout;
    # 60 training images; width 4 at half the rate. All on the digits, with the recipe of the chapter.
    no_gap = ("no-gap", "The two losses stay next to each other: nothing was learned by heart.")
    never_up = ("never-left-upwards", "The losses fall from the start; neither leaves upwards.")
    below = ("below-the-floor", "The loss comes far below what a second softmax allows.")
    same_answers(
        call(answer),
        {
            "run_a": "softmax twice",
            "run_b": "divergence",
            "run_c": "healthy",
            "run_d": "over-fitting",
            "run_e": "under-fitting",
            "keep_d": 20,
        },
        parts,
        mistakes={
            "run_a": {
                "under-fitting": (
                    "right-answers-overlooked",
                    "A model that has learned too little would not read nearly all images right.",
                ),
                "over-fitting": no_gap,
                "divergence": never_up,
                "healthy": ("floor-overlooked", "The loss flattens far above 0 though nearly all answers are right."),
            },
            "run_b": {
                "under-fitting": (
                    "first-epochs-overlooked",
                    "The end could be that; the first epochs are far worse than a guess.",
                ),
                "over-fitting": no_gap,
                "softmax twice": ("loss-above-its-range", "A loss of 80 would need logits far apart."),
                "healthy": ("falling-taken-for-learning", "The loss falls all the way and ends where a guess is."),
            },
            "run_c": {
                "under-fitting": (
                    "harder-images-overlooked",
                    "The loss on new images is low and most answers are right; only the training images are harder.",
                ),
                "over-fitting": ("gap-the-other-way", "There is a gap, but the training loss is the higher one."),
                "divergence": never_up,
                "softmax twice": below,
            },
            "run_d": {
                "under-fitting": ("training-loss-overlooked", "The training loss is 0: these images are fitted."),
                "divergence": ("one-loss-only", "Only one of the two losses climbs; the other is at 0."),
                "softmax twice": below,
                "healthy": ("turn-overlooked", "The validation loss turns and climbs while the training loss is at 0."),
            },
            "run_e": {
                "over-fitting": no_gap,
                "divergence": never_up,
                "softmax twice": ("few-right-answers", "Few answers are right: it is not the loss alone that is poor."),
                "healthy": ("hardly-moved", "The loss falls, but has hardly left that of a guess."),
            },
            "keep_d": {
                100: ("end-of-the-run", "The last weights are not the best ones on images that they have not seen."),
                50: ("training-loss-chosen", "This goes by the training loss, which says little about new images."),
                10: ("stopped-too-early", "At this epoch the validation loss is still on its way down."),
                2: ("place-for-epoch", "This is the place in the row; the points are not one epoch apart."),
            },
        },
    )


# ---- the schedule


def _real(value) -> float:
    """A learner's rate as a float; anything but one number is a `Wrong`."""
    if isinstance(value, (torch.Tensor, np.ndarray)) and math.prod(value.shape) == 1:
        value = value.item()
    if value is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise Wrong("wrong-type", f"The result is {describe(value)} where a number is expected.")
    return float(value)


def _share(step: int, total: int, warmup: int) -> float:
    return (step + 1) / warmup if step < warmup else 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


# ---- a training step


_LIMIT = 0.5


class _Linear(nn.Module):
    """A linear classifier of two parameters, which remembers the modes in which it was called."""

    def __init__(self, weight):
        super().__init__()
        self.left, self.right = (nn.Parameter(part.clone()) for part in weight.tensor_split(2, dim=1))
        self.modes = []

    def whole(self):
        return torch.cat([self.left, self.right], dim=1)

    def forward(self, x):
        self.modes.append(self.training)
        return F.linear(x, self.whole())


def _model_and_optimiser(weight):
    model = _Linear(weight).eval()  # as an evaluation between two epochs may have left it
    return model, torch.optim.SGD(model.parameters(), lr=3.0, momentum=0.5)


def _weights_after_each(function, images, labels, weight):
    """(3, B, D), (3, B), (K, D) -> (3, K, D): the weights after each of three steps."""
    model, optimiser = _model_and_optimiser(weight)
    after = []
    for x, y in zip(images, labels, strict=True):
        function(model, x, y, optimiser, _LIMIT)
        after.append(model.whole().detach().clone())
    return torch.stack(after)


def _step(loss=F.cross_entropy, zero=True, clip=nn.utils.clip_grad_norm_, clip_late=False):
    def step(model, images, labels, optimiser, max_norm):
        value = loss(model(images), labels)
        if zero:
            optimiser.zero_grad()
        value.backward()
        if clip and not clip_late:
            clip(list(model.parameters()), max_norm)
        optimiser.step()
        if clip_late:
            clip(list(model.parameters()), max_norm)
        return value.item()

    return step


def _softmax_first(logits, labels):
    return F.cross_entropy(logits.softmax(dim=-1), labels)


def _one_by_one(parameters, max_norm):
    for parameter in parameters:
        nn.utils.clip_grad_norm_([parameter], max_norm)


def _always_to_the_limit(parameters, max_norm):
    length = torch.stack([p.grad.norm() for p in parameters]).norm()
    for parameter in parameters:
        parameter.grad *= max_norm / length


_SEVERAL = "More than one of the faults is still there."
_STEPS = [
    (
        "softmax-twice",
        "The loss gets probabilities, takes them for logits and puts a second softmax on them.",
        _step(loss=_softmax_first),
    ),
    (
        "gradients-added-up",
        "Each step follows the sum of its own gradient and those of the steps before.",
        _step(zero=False),
    ),
    (
        "not-clipped",
        "The weights moved by a gradient longer than the limit: nothing had shortened it by then.",
        _step(clip=None),
    ),
    ("several-faults", _SEVERAL, _step(loss=_softmax_first, zero=False)),
    ("several-faults", _SEVERAL, _step(loss=_softmax_first, clip=None)),
    ("several-faults", _SEVERAL, _step(zero=False, clip=None)),
    ("several-faults", _SEVERAL, _step(zero=False, clip_late=True)),
    ("several-faults", _SEVERAL, _step(loss=_softmax_first, zero=False, clip=None)),
    ("several-faults", _SEVERAL, _step(loss=_softmax_first, zero=False, clip_late=True)),
    (
        "clipped-number-by-number",
        "Each number of the gradient is cut at the limit, which changes the direction.",
        _step(clip=nn.utils.clip_grad_value_),
    ),
    (
        "clipped-one-by-one",
        "Each parameter's gradient is shortened by itself, which changes the direction of the whole.",
        _step(clip=_one_by_one),
    ),
    (
        "short-gradients-lengthened",
        "Every gradient is brought to the limit, so short ones become longer.",
        _step(clip=_always_to_the_limit),
    ),
    (
        "limit-of-ones-own",
        "The gradient is shortened to length 1, whatever the limit that was asked for.",
        _step(clip=lambda parameters, _: nn.utils.clip_grad_norm_(parameters, 1.0)),
    ),
    (
        "loss-summed",
        "The loss is a sum over the images, so its gradient grows with the batch.",
        _step(loss=lambda z, y: F.cross_entropy(z, y, reduction="sum")),
    ),
    (
        "uphill",
        "The weights move along the gradient, and the loss rises.",
        _step(loss=lambda z, y: -F.cross_entropy(z, y)),
    ),
]


def _one_step(answer, images, labels, weight) -> None:
    """What happens in one step, before numbers are compared: mode, gradients, moves."""
    model, optimiser = _model_and_optimiser(weight)
    gradients = []
    optimiser.register_step_post_hook(
        lambda *_: gradients.append(any(p.grad is not None and bool(p.grad.any()) for p in model.parameters()))
    )
    result = call(answer, model, images, labels, optimiser, _LIMIT)
    if not model.modes:
        raise Wrong("model-not-used", "The model was never called.")
    if not model.modes[0]:
        raise Wrong("eval-mode-left-on", "The model computed in evaluation mode, so dropout would do nothing.")
    if not gradients:
        raise Wrong("no-step", "The optimiser never took a step, so no weight has moved.")
    if len(gradients) > 1:
        raise Wrong(
            "several-steps",
            "The optimiser took more than one step on one batch.",
            ["Expected: 1 step", f"Received: {len(gradients)} steps"],
        )
    if not gradients[0] and any(p.grad is not None and bool(p.grad.any()) for p in model.parameters()):
        raise Wrong("step-before-backward", "The weights move before the gradients of this batch are there.")
    if not gradients[0]:
        raise Wrong("step-without-gradients", "There were no gradients when the optimiser took its step.")
    _real(result)


def _returned_loss(answer, images, labels, weight) -> None:
    model, optimiser = _model_and_optimiser(weight)
    expected = F.cross_entropy(F.linear(images, weight), labels).item()
    received = _real(call(answer, model, images, labels, optimiser, _LIMIT))
    if math.isclose(received, expected, rel_tol=1e-3):
        return
    with torch.no_grad():
        after = F.cross_entropy(F.linear(images, model.whole()), labels).item()
    details = [f"Expected: {expected:.3f}", f"Received: {received:.3f}"]
    for slug, sentence, value in (
        ("loss-after-the-step", "The returned loss is that of the weights after the step.", after),
        ("loss-times-batch", "The returned loss is a sum over the images.", expected * len(labels)),
        (
            "softmax-twice",
            "The returned loss is that of probabilities taken for logits.",
            _softmax_first(F.linear(images, weight), labels).item(),
        ),
    ):
        if math.isclose(received, value, rel_tol=1e-3):
            raise Wrong(slug, sentence, details)
    raise Wrong("wrong-values", "The weights are right, the returned loss is not.", details)


# ---- decay groups

_MATRICES = ("convolution", "linear")
_WORDS = {
    "convolution": "the matrix of a convolution",
    "linear": "the matrix of a linear layer",
    "bias": "a bias",
    "norm": "the scale of a norm",
    "token": "the class token",
    "table": "the position table",
}
_PLAIN = dict(convolution="patches", norm="norm", hidden="mix", head="head", token="token", table="table")
# Names that say something else than the layer is.
_MISLEADING = dict(
    convolution="bias_free", norm="scale", hidden="norm_to_head", head="table", token="weight", table="linear_weight"
)


class _Named(nn.Module):
    """A convolution, a norm, two linear layers, a token and a position table under names of one's choice."""

    def __init__(self, names, patch, channels, tokens, width, classes):
        super().__init__()
        self.add_module(names["convolution"], nn.Conv2d(channels, width, patch, patch))
        block = nn.ModuleDict({names["norm"]: nn.LayerNorm(width), names["hidden"]: nn.Linear(width, width)})
        self.add_module("block", block)
        self.add_module(names["head"], nn.Linear(width, classes, bias=False))
        self.register_parameter(names["token"], nn.Parameter(torch.zeros(1, 1, width)))
        self.register_parameter(names["table"], nn.Parameter(torch.zeros(tokens, width)))


def _decay_of_each(received, model) -> list[tuple[str, str, float]]:
    """-> (kind, name, decay) of each parameter, where `received` is a list of groups that holds each of them once."""
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    kinds = {}
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            kind = {nn.Conv2d: "convolution", nn.Linear: "linear", nn.LayerNorm: "norm"}.get(type(module))
            kind = kind or ("token" if parameter.ndim == 3 else "table")
            kinds[id(parameter)] = "bias" if name == "bias" else kind
    if not isinstance(received, (list, tuple)) or not all(isinstance(group, dict) for group in received):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a list of dicts is expected.")
    found: dict[int, float] = {}
    for group in received:
        if "params" not in group or "weight_decay" not in group:
            missing = "params" if "params" not in group else "weight_decay"
            raise Wrong(
                "key-missing",
                f"A group has no entry {missing!r}: AdamW would refuse it, or use a decay of its own.",
                [f"Received: a dict with {', '.join(sorted(map(str, group))) or 'nothing'}"],
            )
        parameters = [group["params"]] if isinstance(group["params"], torch.Tensor) else group["params"]
        try:
            parameters = [p[1] if isinstance(p, tuple) else p for p in parameters]
        except TypeError:
            raise Wrong("wrong-type", f"A group's params are {describe(group['params'])}, no list.") from None
        for parameter in parameters:
            if id(parameter) not in kinds:
                raise Wrong(
                    "not-the-models-own",
                    "A group holds something that is not one of the model's parameters, such as a name or a copy.",
                    [f"Received: {describe(parameter)}"],
                )
            if id(parameter) in found:
                raise Wrong("in-two-places", "A parameter is in the groups more than once, and would be moved twice.")
            found[id(parameter)] = _real(group["weight_decay"])
    absent = sorted({kinds[key] for key in kinds if key not in found})
    if absent:
        raise Wrong(
            "parameters-missing",
            "Some parameters are in no group, so they would never be trained.",
            [f"Expected: {len(kinds)} parameters in all", f"Received: {len(found)}; missing: {', '.join(absent)}"],
        )
    return [(kinds[id(p)], name, found[id(p)]) for name, p in model.named_parameters()]


def _name_the_mistake(found, misplaced, weight_decay, misleading: bool) -> None:
    kind, name, received = misplaced[0]
    details = [
        f"Expected: decay {weight_decay if kind in _MATRICES else 0:g} for {name} ({_WORDS[kind]})",
        f"Received: {received:g}",
    ]
    values = {decay for *_, decay in found}
    if values - {0, weight_decay}:
        raise Wrong("other-decay", "A group has a decay that is neither 0 nor the one that was asked for.", details)
    if misleading:
        raise Wrong(
            "judged-by-name",
            "Right for a model with the usual names, not for one whose names say something else than its layers are.",
            details,
        )
    if values == {weight_decay}:
        raise Wrong("everything-decays", "Every parameter decays.", details)
    if values == {0}:
        raise Wrong("nothing-decays", "No parameter decays.", details)
    if misplaced == found:
        raise Wrong("groups-swapped", "The two groups have each other's decay.", details)
    for kinds, slug, sentence in (
        ({"convolution"}, "convolution-forgotten", "The matrix of the convolution does not decay."),
        ({"linear"}, "linear-forgotten", "The matrices of the linear layers do not decay."),
        ({"bias"}, "biases-decay", "The biases decay, though they multiply no input."),
        ({"norm"}, "norms-decay", "The norm's scale decays, though it is 1 by design."),
        ({"bias", "norm"}, "biases-and-norms-decay", "Biases and the norm's scale decay."),
        ({"token", "table"}, "tables-decay", "The token and the position table decay, though they multiply no input."),
        (
            {"convolution", "table"},
            "two-axes-decay",
            "What has two axes decays: the position table does, and the matrix of the convolution does not.",
        ),
        (
            {"norm", "token", "table"},
            "all-but-biases-decay",
            "Everything but the biases decays: norms, token and table too.",
        ),
    ):
        if misplaced == [entry for entry in found if entry[0] in kinds]:
            raise Wrong(slug, sentence, details)
    raise Wrong("wrong-behaviour", "Some parameters are in the wrong group.", details)


# ---- the evaluation


class Classifier(nn.Module):
    """Logits from pixels; in training mode other ones. It remembers how it was called."""

    def __init__(self, weight):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.seen = []

    def forward(self, images):
        self.seen.append((self.training, torch.is_grad_enabled()))
        logits = images.flatten(1) @ self.weight.T  # (B, K)
        return logits.roll(1, dims=1) if self.training else logits
