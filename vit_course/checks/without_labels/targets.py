"""Exercise without_labels.targets: targets balanced over a batch."""

import torch

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.no_gradient import any_precision, same_without_gradient
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, table


def targets(answer, draw):
    """`answer(outputs, temperature, rounds)`: (B, K), a float, an int -> (B, K)."""
    draws = [(_outputs(draw), temperature, rounds) for temperature, rounds in ((0.5, 2), (0.4, 4), (0.7, 0))]
    same_without_gradient(__name__, answer, balanced, draws, "(B, K)")
    # Outputs whose exponentials are too large for float32, although none is far from the largest.
    large = [(10 + _outputs(draw).clamp(-0.5, 0.5), 0.04, rounds) for rounds in (3, 0)]
    same_function(any_precision(answer), balanced, large, table(__name__, "large"), "(B, K)", differentiable=False)
    outputs, temperature, rounds = draws[0]
    with named_by_details(*known(__name__, "errors")):
        result = call(answer, outputs.requires_grad_(), temperature, rounds)
    if result.requires_grad:
        sentence = "A gradient can flow from the targets back to the teacher's outputs."
        raise Wrong("gradient-recorded", sentence, ["Received: requires_grad = True"])


def _outputs(draw) -> torch.Tensor:
    # One answer is a favourite of the batch, and some images are surer than others.
    batch, answers = draw.sizes(2, low=4)
    return 0.6 * draw.normal(batch, answers) + draw.normal(answers) + 0.5 * draw.normal(batch, 1)


def columns(shares):
    """(B, K) -> (B, K): each column is divided by its sum."""
    return shares / shares.sum(dim=0, keepdim=True)


def rows(shares):
    """(B, K) -> (B, K): each row is divided by its sum."""
    return shares / shares.sum(dim=1, keepdim=True)


def balanced(
    outputs,
    temperature,
    rounds,
    start=lambda outputs, temperature: ((outputs - outputs.max()) / temperature).exp(),
    turn=lambda shares: rows(columns(shares)),
    times=lambda rounds: rounds,
    end=rows,
):
    """The right answer, and with one of its steps replaced a wrong one."""
    shares = start(outputs, temperature)
    for _ in range(times(rounds)):
        shares = turn(shares)
    return end(shares)
