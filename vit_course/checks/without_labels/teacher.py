"""Exercise without_labels.teacher: a whole module that follows another, by a schedule."""

import math

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse, refuse_number
from vit_course.checks.tools.tensors import agree


def teacher(answer, draw):
    """`answer(teacher, student, step, steps, momentum)` changes the teacher in place."""
    steps, sizes = draw.choose((7, 9, 11)), draw.sizes(3, low=4)
    # First at a step where no two schedules agree, for a teacher without gradients and for one with them.
    for step, learns in ((2, False), (2, True), (0, False), (steps - 1, False)):
        slow, fast = (Network(draw, tracked, *sizes) for tracked in draw.sizes(2, low=10, high=90))
        slow.requires_grad_(learns)
        _one_update(answer, slow, fast, step, steps, momentum=draw.choose((0.6, 0.7, 0.8)))


class Network(nn.Module):
    """Parameters and buffers at several levels, with numbers of their own."""

    def __init__(self, draw, tracked, width, hidden, classes):
        super().__init__()
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.block = nn.Sequential(nn.Linear(width, hidden), nn.BatchNorm1d(hidden))
        self.head = nn.Linear(hidden, classes)
        self.register_buffer("centre", torch.zeros(classes))
        with torch.no_grad():
            for one in tensors(self).values():
                one.copy_(draw.normal(*one.shape) if one.is_floating_point() else torch.tensor(tracked))


def tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    """All parameters and buffers of a module, by name."""
    return dict(module.named_parameters()) | dict(module.named_buffers())


def copied(module: nn.Module) -> dict[str, torch.Tensor]:
    """Copies of all parameters and buffers, by name."""
    return {name: one.detach().clone() for name, one in tensors(module).items()}


def same(some: dict, others: dict) -> bool:
    """Whether two modules have the same numbers in everything of these names."""
    return all(agree(one, others.get(name)) for name, one in some.items())


def _one_update(answer, slow, fast, step, steps, momentum) -> None:
    before, student, held, learns = copied(slow), copied(fast), tensors(slow), slow.token.requires_grad
    with named_by_details(*known(__name__, "errors")):
        result = call(answer, slow, fast, step, steps, momentum)
    now, given = tensors(slow), [f"Input:    step = {step}, steps = {steps}, momentum = {momentum}"]
    refuse(__name__, "update", locals(), given)
    learned = [name for name, _ in fast.named_parameters()]
    share = (1 - momentum) * (1 + math.cos(math.pi * step / steps)) / 2
    if not all(agree(now[name], before[name].lerp(student[name], share)) for name in learned):
        _name_the_parameters(learned, before, student, now, given, locals())
    buffers = [name for name in before if name not in learned]
    wrong = {name for name in buffers if not agree(now[name], student[name])}
    if wrong:
        whole = {name for name in buffers if not before[name].is_floating_point()}
        mixed = {name: before[name].float().lerp(student[name].float(), share) for name in buffers}
        missed = next((name for name in sorted(wrong) if agree(now[name], before[name])), None)
        details = [*given, f"Expected: {min(wrong)} as in the student"]
        details.append(f"Received: other numbers in {len(wrong)} of {len(buffers)} buffers")
        refuse(__name__, "buffers", locals(), details)
        raise Wrong("wrong-values", "Buffers of the teacher are not those of the student.", details)


def _name_the_parameters(learned, before, student, now, given, seen) -> None:
    still = [name for name in learned if agree(now[name], before[name])]
    rows = (torch.cat([found[name].detach().flatten() for name in learned]) for found in (before, student, now))
    kept, taken, fits = _mixture(*rows)
    share = seen["share"]
    details = [*given, f"Expected: {1 - share:.4f} of the teacher's numbers and {share:.4f} of the student's"]
    details.append(f"Received: {kept:.4f} and {taken:.4f}" if fits else "Received: not so much of each in all of them")
    seen = seen | locals()
    refuse(__name__, "parameters", seen, details)
    if fits:
        refuse_number(__name__, "shares", taken, seen, details)
    raise Wrong("wrong-values", "The parameters of the teacher are not the average that was asked for.", details)


def _mixture(before, student, now) -> tuple[float, float, bool]:
    """-> how much of the two is in the third, and whether nothing else is."""
    both = torch.stack([before, student], dim=1).double()  # (n, 2)
    shares = torch.linalg.lstsq(both, now.double()).solution
    return *shares.tolist(), agree((both @ shares).float(), now)
