"""Exercise without_labels.teacher: a whole module that follows another, by a schedule."""

import math

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, refuse, refuse_number
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
        self.register_buffer("unsaved", torch.zeros(width), persistent=False)
        with torch.no_grad():
            for one in tensors(self).values():
                one.copy_(draw.normal(*one.shape) if one.is_floating_point() else torch.tensor(tracked))


def tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    """All parameters and buffers of a module, by name."""
    return dict(module.named_parameters()) | dict(module.named_buffers())


def copied(module: nn.Module) -> dict[str, torch.Tensor]:
    """Copies of all parameters and buffers, by name."""
    return {name: one.detach().clone() for name, one in tensors(module).items()}


def modes(module: nn.Module) -> list[bool]:
    """Whether each module inside is in training mode."""
    return [one.training for one in module.modules()]


def places(module: nn.Module) -> list[int]:
    """Where the memory of all parameters and buffers begins."""
    return [one.data_ptr() for one in tensors(module).values()]


def same(some: dict, others: dict) -> bool:
    """Whether two modules have the same numbers in everything of these names."""
    return all(agree(one, others.get(name)) for name, one in some.items())


def _one_update(answer, slow, fast, step, steps, momentum) -> None:
    before, student, held, learns = copied(slow), copied(fast), tensors(slow), slow.token.requires_grad
    memory, mode = places(slow), modes(fast)
    with named_by_details(*ERRORS):
        result = call(answer, slow, fast, step, steps, momentum)
    now, given = tensors(slow), [f"Input:    step = {step}, steps = {steps}, momentum = {momentum}"]
    refuse(
        UPDATE,
        dict(
            slow=slow,
            fast=fast,
            before=before,
            student=student,
            held=held,
            learns=learns,
            result=result,
            now=now,
            memory=memory,
            mode=mode,
        ),
        given,
    )
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
        refuse(
            BUFFERS,
            dict(buffers=buffers, wrong=wrong, before=before, now=now, whole=whole, mixed=mixed, missed=missed),
            details,
        )
        raise Wrong("wrong-values", "Buffers of the teacher are not those of the student.", details)


def _name_the_parameters(learned, before, student, now, given, seen) -> None:
    still = [name for name in learned if agree(now[name], before[name])]
    rows = (torch.cat([found[name].detach().flatten() for name in learned]) for found in (before, student, now))
    kept, taken, fits = _mixture(*rows)
    share = seen["share"]
    details = [*given, f"Expected: {1 - share:.4f} of the teacher's numbers and {share:.4f} of the student's"]
    details.append(f"Received: {kept:.4f} and {taken:.4f}" if fits else "Received: not so much of each in all of them")
    seen = seen | locals()
    refuse(PARAMETERS, seen, details)
    if fits:
        refuse_number(SHARES, taken, seen, details)
    raise Wrong("wrong-values", "The parameters of the teacher are not the average that was asked for.", details)


def _mixture(before, student, now) -> tuple[float, float, bool]:
    """-> how much of the two is in the third, and whether nothing else is."""
    both = torch.stack([before, student], dim=1).double()  # (n, 2)
    shares = torch.linalg.lstsq(both, now.double()).solution
    return *shares.tolist(), agree((both @ shares).float(), now)


ERRORS = [
    Known(
        "leaf Variable that requires grad",
        "gradient-recorded",
        "The update is recorded for a gradient, and then a parameter cannot be changed in place.",
    ),
    Known(
        "'Long'|dtype long|result type Float|Long but got",
        "whole-numbers-averaged",
        "A buffer of whole numbers is averaged like a parameter.",
    ),
    Known("cannot assign", "tensor-assigned", "A new tensor is assigned to the name of a parameter."),
    Known(
        "must match the size", "tensors-do-not-fit", "A tensor of the teacher is combined with one of another shape."
    ),
    Known(
        "'(Network|Sequential|Linear|BatchNorm1d)' object has no attribute",
        "no-such-name",
        "Your code asks a module for something that this module does not have.",
    ),
]

# What happened to the two modules, before numbers are compared.
UPDATE = [
    Slip(
        "student-moves",
        "The student has changed, and the teacher is the same as before.",
        lambda student, fast, before, now: not same(student, tensors(fast)) and same(before, now),
    ),
    Slip(
        "student-changed",
        "The student is not the same after the call.",
        lambda student, fast: not same(student, tensors(fast)),
    ),
    Slip(
        "returned-instead",
        "The teacher is the same as before; what the function returns is not looked at.",
        lambda before, now, result: same(before, now) and result is not None,
    ),
    Slip("nothing-changed", "The teacher is the same as before.", lambda before, now: same(before, now)),
    Slip(
        "memory-shared",
        "The teacher shares memory with the student, so it will change with each of the student's steps.",
        lambda slow, fast: {*places(slow)} & {*places(fast)},
    ),
    Slip(
        "tensors-replaced",
        "Tensors of the teacher are new objects; whoever holds the old ones no longer sees it change.",
        lambda now, held: any(now.get(name) is not one for name, one in held.items()),
    ),
    Slip(
        "memory-replaced",
        "A tensor of the teacher has new memory, so a state dict that somebody holds no longer sees it change.",
        lambda slow, memory: places(slow) != memory,
    ),
    Slip(
        "student-mode-changed",
        "The student is not in the mode, training or evaluation, in which it was before the call.",
        lambda fast, mode: modes(fast) != mode,
    ),
    Slip(
        "gradient-recorded",
        "The update is recorded for a gradient, which would lead from the teacher to the student.",
        lambda now: any(one.grad_fn is not None for one in now.values()),
    ),
    Slip(
        "requires-grad-changed",
        "Whether the teacher's parameters require a gradient is not as it was before the call.",
        lambda learns, slow: any(one.requires_grad != learns for one in slow.parameters()),
    ),
]

PARAMETERS = [
    Slip(
        "inner-modules-missed",
        "Only the parameters of the module itself move, not those of the modules inside it.",
        lambda still, learned: still == [name for name in learned if "." in name],
    ),
    Slip(
        "only-buffers-changed",
        "Buffers have changed, but no parameter has moved.",
        lambda still, learned: len(still) == len(learned),
    ),
    Slip("parameters-missed", "Some parameters have not moved, such as {still[0]}.", lambda still: still),
    Slip(
        "teacher-shrunk",
        "The teacher is only multiplied by a number: nothing of the student is added.",
        lambda fits, taken: fits and abs(taken) < 1e-4,
    ),
    Slip(
        "own-share-whole",
        "A share of the student is added, but the teacher keeps all of its own numbers.",
        lambda fits, kept: fits and abs(kept - 1) < 1e-4,
    ),
    Slip(
        "shares-do-not-sum-to-one",
        "The share of the teacher and that of the student do not sum to 1.",
        lambda fits, kept, taken: fits and abs(kept + taken - 1) > 1e-4,
    ),
]

# The share of the student.
SHARES = [
    Slip(
        "shares-exchanged",
        "The shares are exchanged: m belongs to the student here, and 1 - m to the teacher.",
        lambda share: 1 - share,
    ),
    Slip("schedule-missing", "The momentum is the same at every step.", lambda momentum: 1 - momentum),
    Slip(
        "schedule-missing-and-shares-exchanged",
        "The momentum is the same at every step, and the shares of teacher and student are exchanged.",
        lambda momentum: momentum,
    ),
    Slip(
        "schedule-backwards",
        "The schedule runs backwards: the momentum begins at 1.",
        lambda momentum, share: 1 - momentum - share,
    ),
    Slip(
        "schedule-backwards-and-shares-exchanged",
        "The schedule runs backwards, and the shares of teacher and student are exchanged.",
        lambda momentum, share: momentum + share,
    ),
    Slip(
        "step-from-one",
        "The steps are counted from 1, so the momentum is that of the next step.",
        lambda momentum, step, steps: (1 - momentum) * (1 + math.cos(math.pi * (step + 1) / steps)) / 2,
    ),
    Slip(
        "one-step-short",
        "The momentum reaches 1 at the last step, one step too early.",
        lambda momentum, step, steps: (1 - momentum) * (1 + math.cos(math.pi * step / (steps - 1))) / 2,
    ),
    Slip("not-halved", "1 + cos is not divided by 2, so the first share is twice too large.", lambda share: 2 * share),
    Slip(
        "straight-line",
        "The momentum climbs along a straight line.",
        lambda momentum, step, steps: (1 - momentum) * (1 - step / steps),
    ),
    Slip(
        "quarter-of-a-wave",
        "The momentum climbs along a quarter of a wave.",
        lambda momentum, step, steps: (1 - momentum) * math.cos(math.pi * step / steps / 2),
        lambda momentum, step, steps: (1 - momentum) * (1 - math.sin(math.pi * step / steps / 2)),
    ),
    Slip(
        "whole-wave",
        "The cosine runs through a whole wave.",
        lambda momentum, step, steps: (1 - momentum) * (1 + math.cos(2 * math.pi * step / steps)) / 2,
    ),
    Slip(
        "one-not-added",
        "1 is not added to the cosine.",
        lambda momentum, step, steps: (1 - momentum) * math.cos(math.pi * step / steps),
        lambda momentum, step, steps: (1 - momentum) * math.cos(math.pi * step / steps) / 2,
    ),
    Slip(
        "no-pi",
        "There is no pi in the cosine.",
        lambda momentum, step, steps: (1 - momentum) * (1 + math.cos(step / steps)) / 2,
    ),
    Slip("moves-away", "The teacher moves away from the student.", lambda share: -share),
    Slip(
        "falls-to-zero",
        "The momentum falls to 0, so in the end the teacher is a copy of the student.",
        lambda momentum, step, steps: 1 - momentum * (1 + math.cos(math.pi * step / steps)) / 2,
    ),
    Slip(
        "climbs-from-zero",
        "The momentum begins at 0 instead of the given number.",
        lambda step, steps: (1 + math.cos(math.pi * step / steps)) / 2,
    ),
    Slip("parameters-copied", "Every parameter is a copy of the student's: nothing is averaged.", 1.0),
]

BUFFERS = [
    Slip(
        "unsaved-buffer-forgotten",
        "A buffer that is not in `state_dict()`, as with `persistent=False`, is as before.",
        lambda wrong, before, now: wrong == {"unsaved"} and agree(before["unsaved"], now["unsaved"]),
    ),
    Slip(
        "buffers-forgotten",
        "The parameters move, but the buffers are as before.",
        lambda before, buffers, now: same({name: before[name] for name in buffers}, now),
    ),
    Slip(
        "whole-numbers-forgotten",
        "Buffers of floats are copied, but not a buffer of whole numbers.",
        lambda wrong, whole, before, now: wrong == whole and same({name: before[name] for name in whole}, now),
    ),
    Slip(
        "whole-numbers-averaged",
        "A buffer of whole numbers is averaged like a parameter.",
        lambda wrong, whole, now, mixed: wrong == whole and all(abs(now[name] - mixed[name]) < 1.01 for name in whole),
    ),
    Slip(
        "buffers-averaged",
        "Buffers are averaged like the parameters.",
        lambda now, mixed, wrong, whole: any(agree(now[name], mixed[name]) for name in wrong - whole),
    ),
    Slip("buffers-missed", "Some buffers are as before, such as {missed}.", lambda missed: missed),
]
