"""Answers to exercise without_labels.teacher."""

import math

import torch

from answers import UNKNOWN, Answers

answers = Answers("without_labels.teacher")

answers.edits(
    ("schedule-backwards", "(1 + math", "(1 - math"),
    ("only-buffers-changed", "slow.lerp_(", "slow.lerp("),
)


def momentum_at(step, steps, momentum):
    return 1 - (1 - momentum) * (1 + math.cos(math.pi * step / steps)) / 2


@torch.no_grad()
def average_parameters(teacher, student, m):
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.lerp_(fast, 1 - m)


@torch.no_grad()
def copy_buffers(teacher, student):
    for slow, fast in zip(teacher.buffers(), student.buffers(), strict=True):
        slow.copy_(fast)


@answers.right
def by_state_dict(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    learned, theirs = {name for name, _ in teacher.named_parameters()}, student.state_dict()
    for name, slow in teacher.state_dict().items():
        if name in learned:
            slow.lerp_(theirs[name], 1 - m)
    copy_buffers(teacher, student)


@answers.right
def by_data(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.data.mul_(m).add_(fast.data, alpha=1 - m)
    for slow, fast in zip(teacher.buffers(), student.buffers(), strict=True):
        slow.data.copy_(fast.data)
    return teacher


@answers.right
def by_name(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    parameters, buffers = dict(student.named_parameters()), dict(student.named_buffers())
    with torch.inference_mode():
        for name, slow in teacher.named_parameters():
            slow.copy_(m * slow + (1 - m) * parameters[name])
        for name, slow in teacher.named_buffers():
            slow[...] = buffers[name]


@answers.right
def loaded_once(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    mixed, learned = student.state_dict(), dict(teacher.named_parameters())
    for name, slow in teacher.state_dict().items():
        if name in learned:
            mixed[name] = m * slow + (1 - m) * mixed[name]
    teacher.load_state_dict(mixed)
    copy_buffers(teacher, student)


@answers.wrong("inner-modules-missed")
def outermost_parameters(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(recurse=False), student.parameters(recurse=False), strict=True):
            slow.lerp_(fast, 1 - m)
    copy_buffers(teacher, student)


@answers.wrong("parameters-missed")
def matrices_alone(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
            if slow.ndim > 1:
                slow.lerp_(fast, 1 - m)
    copy_buffers(teacher, student)


def with_momentum(momentum_of):
    """An answer with another momentum, a function of step, steps and momentum."""

    def update(teacher, student, step, steps, momentum):
        average_parameters(teacher, student, momentum_of(step, steps, momentum))
        copy_buffers(teacher, student)

    return update


answers.wrong("shares-exchanged")(with_momentum(lambda step, steps, m: 1 - momentum_at(step, steps, m)))
answers.wrong("schedule-missing")(with_momentum(lambda step, steps, m: m))
answers.wrong("step-from-one")(with_momentum(lambda step, steps, m: momentum_at(step + 1, steps, m)))
answers.wrong("not-halved")(with_momentum(lambda step, steps, m: 1 - (1 - m) * (1 + math.cos(math.pi * step / steps))))
answers.wrong("straight-line")(with_momentum(lambda step, steps, m: m + (1 - m) * step / steps))
answers.wrong("whole-wave")(with_momentum(lambda step, steps, m: momentum_at(2 * step, steps, m)))
answers.wrong("no-pi")(with_momentum(lambda step, steps, m: 1 - (1 - m) * (1 + math.cos(step / steps)) / 2))
answers.wrong(UNKNOWN)(with_momentum(lambda step, steps, m: 1 - (1 - momentum_at(step, steps, m)) ** 2))


@answers.wrong("parameters-copied")
def all_copied(teacher, student, step, steps, momentum):
    teacher.load_state_dict(student.state_dict())


@answers.wrong("gradient-recorded")
def gradient_recorded(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.lerp_(fast, 1 - m)
    copy_buffers(teacher, student)


@answers.wrong("gradient-recorded")
def student_detached_alone(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.lerp_(fast.detach(), 1 - m)
    copy_buffers(teacher, student)


@answers.wrong("requires-grad-changed")
def frozen(teacher, student, step, steps, momentum):
    teacher.requires_grad_(False)
    average_parameters(teacher, student, momentum_at(step, steps, momentum))
    copy_buffers(teacher, student)


@answers.wrong("student-changed")
def student_multiplied(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    with torch.no_grad():
        for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
            slow.mul_(m).add_(fast.mul_(1 - m))
    copy_buffers(teacher, student)


@answers.wrong("student-changed")
def student_in_evaluation_mode(teacher, student, step, steps, momentum):
    student.eval()
    average_parameters(teacher, student, momentum_at(step, steps, momentum))
    copy_buffers(teacher, student)


@answers.wrong("nothing-changed")
def names_assigned(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow = m * slow + (1 - m) * fast


@answers.wrong("returned-instead")
def names_assigned_and_returned(teacher, student, step, steps, momentum):
    names_assigned(teacher, student, step, steps, momentum)
    return teacher


@answers.wrong("memory-shared")
def loaded_by_assignment(teacher, student, step, steps, momentum):
    teacher.load_state_dict(student.state_dict(), assign=True)


@answers.wrong("tensors-replaced")
def buffer_replaced(teacher, student, step, steps, momentum):
    average_parameters(teacher, student, momentum_at(step, steps, momentum))
    copy_buffers(teacher, student)
    teacher.centre = teacher.centre.clone()


@answers.wrong("tensors-replaced")
def memory_replaced(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
        slow.data = slow.data.lerp(fast.data, 1 - m)
    copy_buffers(teacher, student)


@answers.wrong("buffers-forgotten")
def parameters_alone(teacher, student, step, steps, momentum):
    average_parameters(teacher, student, momentum_at(step, steps, momentum))


@answers.wrong("buffers-averaged")
def everything_averaged(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    for slow, fast in zip(teacher.state_dict().values(), student.state_dict().values(), strict=True):
        slow.copy_(m * slow + (1 - m) * fast)


@answers.wrong("whole-numbers-averaged")
def everything_averaged_by_lerp(teacher, student, step, steps, momentum):
    m = momentum_at(step, steps, momentum)
    for slow, fast in zip(teacher.state_dict().values(), student.state_dict().values(), strict=True):
        slow.lerp_(fast, 1 - m)


@answers.wrong("whole-numbers-forgotten")
def floats_alone(teacher, student, step, steps, momentum):
    average_parameters(teacher, student, momentum_at(step, steps, momentum))
    for slow, fast in zip(teacher.buffers(), student.buffers(), strict=True):
        if slow.is_floating_point():
            slow.copy_(fast)


@answers.wrong(UNKNOWN)
def saved_buffers_alone(teacher, student, step, steps, momentum):
    average_parameters(teacher, student, momentum_at(step, steps, momentum))
    learned, theirs = dict(teacher.named_parameters()), student.state_dict()
    for name, slow in teacher.state_dict().items():
        if name not in learned:
            slow.copy_(theirs[name])
