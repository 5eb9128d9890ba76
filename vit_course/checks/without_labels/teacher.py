"""Exercise without_labels.teacher: a whole module that follows another, by a schedule."""

import math

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Known, Mistake, named_by_details, refuse, refuse_number
from vit_course.checks.tools.tensors import agree
from vit_course.checks.tools.words import beside


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


class Snapshot:
    """A module as it is now: its tensors, copies of their numbers, where their memory begins, the modes inside."""

    def __init__(self, module: nn.Module):
        self.tensors = tensors(module)
        self.numbers = {name: one.detach().clone() for name, one in self.tensors.items()}
        self.memory = [one.data_ptr() for one in self.tensors.values()]
        self.modes = [one.training for one in module.modules()]
        self.requires_grad = {name: one.requires_grad for name, one in module.named_parameters()}


def tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    """All parameters and buffers of a module, by name."""
    return dict(module.named_parameters()) | dict(module.named_buffers())


def same(some: dict, others: dict) -> bool:
    """Whether everything of the first has the same numbers in the second."""
    return all(agree(one, others.get(name)) for name, one in some.items())


def _one_update(answer, slow, fast, step, steps, momentum) -> None:
    before, student = Snapshot(slow), Snapshot(fast)
    with named_by_details(*ERRORS):
        result = call(answer, slow, fast, step, steps, momentum)
    now, details = Snapshot(slow), [f"Input:    step = {step}, steps = {steps}, momentum = {momentum}"]
    refuse(UPDATE, details, before=before, now=now, student=student, student_now=Snapshot(fast), result=result)
    share = (1 - momentum) * (1 + math.cos(math.pi * step / steps)) / 2
    floats = [name for name, one in before.numbers.items() if one.is_floating_point()]
    average = {name: before.numbers[name].lerp(student.numbers[name], share) for name in floats}
    learned = [*before.requires_grad]
    if not same({name: average[name] for name in learned}, now.numbers):
        _check_moved(learned, before.numbers, now.numbers, details)
        taken = _share_taken(learned, before.numbers, student.numbers, now.numbers)
        received = "no such average of all parameters" if taken is None else f"a share of {taken:.4f}"
        details += beside(f"a share of {share:.4f} of the student's numbers", received)
        if taken is not None:
            refuse_number(_wrong_shares(share, momentum, step, steps), taken, details)
        raise Wrong("wrong-values", "The parameters of the teacher are not the average that was asked for.", details)
    buffers = [name for name in before.numbers if name not in learned]
    _check_buffers(buffers, before.numbers, student.numbers, now.numbers, average, details)


def _check_moved(learned: list[str], before: dict, now: dict, details: list[str]) -> None:
    still = [name for name in learned if agree(now[name], before[name])]
    if still == [name for name in learned if "." in name]:
        sentence = "Only the parameters of the module itself move, not those of the modules inside it."
        raise Wrong("inner-modules-missed", sentence, details)
    if still == learned:
        sentence = "Buffers have changed, but no parameter of this teacher has, whether it requires a gradient or not."
        raise Wrong("only-buffers-changed", sentence, details)
    if still:
        raise Wrong("parameters-missed", f"Some parameters have not moved, such as {still[0]}.", details)


def _share_taken(learned: list[str], before: dict, student: dict, now: dict) -> float | None:
    """The share of the student in the teacher's parameters, or None where it is not the same in all of them."""
    first, second, mixed = (torch.cat([one[name].flatten() for name in learned]) for one in (before, student, now))
    share = ((mixed - first) @ (second - first) / (second - first).square().sum()).item()
    return share if agree(mixed, first.lerp(second, share)) else None


def _check_buffers(
    buffers: list[str], before: dict, student: dict, now: dict, average: dict, details: list[str]
) -> None:
    wrong = [name for name in buffers if not agree(now[name], student[name])]
    if not wrong:
        return
    received = f"other numbers in {len(wrong)} of {len(buffers)} buffers"
    details = [*details, *beside(f"the buffer {min(wrong)!r} as in the student", received)]
    if all(agree(now[name], before[name]) for name in buffers):
        raise Wrong("buffers-forgotten", "The parameters move, but the buffers are as before.", details)
    if all(agree(now[name], before[name]) and name not in average for name in wrong):
        sentence = "Buffers of floats are copied, but not a buffer of whole numbers."
        raise Wrong("whole-numbers-forgotten", sentence, details)
    if any(agree(now[name], average[name]) for name in wrong if name in average):
        raise Wrong("buffers-averaged", "Buffers are averaged like the parameters.", details)
    raise Wrong("wrong-values", "Buffers of the teacher are not those of the student.", details)


ERRORS = [
    Known(
        "leaf Variable that requires grad",
        "gradient-recorded",
        "The update is recorded for a gradient, and then a parameter cannot be changed in place.",
    ),
    Known(  # taught
        "'Long'|dtype long|result type Float|Long but got",
        "whole-numbers-averaged",
        "A buffer of whole numbers is averaged like a parameter.",
    ),
]

# What happened to the two modules, before numbers are compared.
UPDATE = [
    Mistake(
        "student-changed",
        "The student is not the same after the call: its numbers, or its mode, training or evaluation.",
        lambda seen: not same(seen.student.numbers, seen.student_now.numbers),
        lambda seen: seen.student.modes != seen.student_now.modes,
    ),
    Mistake(
        "returned-instead",
        "The teacher is the same as before; what the function returns is not looked at.",
        lambda seen: same(seen.before.numbers, seen.now.numbers) and seen.result is not None,
    ),
    Mistake(
        "nothing-changed",
        "The teacher is the same as before.",
        lambda seen: same(seen.before.numbers, seen.now.numbers),
    ),
    Mistake(
        "memory-shared",
        "The teacher shares memory with the student, so it will change with each of the student's steps.",
        lambda seen: {*seen.now.memory} & {*seen.student_now.memory},
    ),
    Mistake(
        "tensors-replaced",
        "Tensors of the teacher are new objects or have new memory; whoever holds the old ones sees no change.",
        lambda seen: any(seen.now.tensors.get(name) is not one for name, one in seen.before.tensors.items()),
        lambda seen: seen.now.memory != seen.before.memory,
    ),
    Mistake(
        "gradient-recorded",
        "The update is recorded for a gradient, which would lead from the teacher to the student.",
        lambda seen: any(one.grad_fn is not None for one in seen.now.tensors.values()),
    ),
    Mistake(
        "requires-grad-changed",
        "Whether the teacher's parameters require a gradient is not as it was before the call.",
        lambda seen: seen.now.requires_grad != seen.before.requires_grad,
    ),
]


def _wrong_shares(share, momentum, step, steps) -> list[Mistake]:
    # The share of the student.
    return [
        Mistake(
            "shares-exchanged",
            "The shares are exchanged: m belongs to the student here, and 1 - m to the teacher.",
            1 - share,
        ),
        Mistake("schedule-missing", "The momentum is the same at every step.", 1 - momentum),
        Mistake("schedule-backwards", "The schedule runs backwards: the momentum begins at 1.", 1 - momentum - share),
        Mistake(
            "step-from-one",
            "The steps are counted from 1, so the momentum is that of the next step.",
            (1 - momentum) * (1 + math.cos(math.pi * (step + 1) / steps)) / 2,
        ),
        Mistake("not-halved", "1 + cos is not divided by 2, so the first share is twice too large.", 2 * share),
        Mistake("straight-line", "The momentum climbs along a straight line.", (1 - momentum) * (1 - step / steps)),
        Mistake(
            "whole-wave",
            "The cosine runs through a whole wave.",
            (1 - momentum) * (1 + math.cos(2 * math.pi * step / steps)) / 2,
        ),
        Mistake("no-pi", "There is no pi in the cosine.", (1 - momentum) * (1 + math.cos(step / steps)) / 2),
        Mistake("parameters-copied", "Every parameter is a copy of the student's: nothing is averaged.", 1.0),
    ]
