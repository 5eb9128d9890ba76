"""Exercise without_labels.targets: targets balanced over a batch."""

import torch
import torch.nn.functional as F

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.common import given
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Mistake, named_by_details
from vit_course.checks.tools.tensors import agree


def targets(answer, draw):
    """`answer(outputs, temperature, rounds)`: (B, K), a float, an int -> (B, K)."""
    draws = [(_outputs(draw), temperature, rounds) for temperature, rounds in ((0.5, 2), (0.4, 4), (0.7, 0))]
    mistakes = [*MISTAKES, _clamped(answer), _wrong_without_rounds(answer)]
    same_function(answer, balanced, draws, mistakes, "(B, K)", differentiable=False)
    # Outputs whose exponentials are too large for float32, although none is far from the largest.
    large = [(10 + _outputs(draw).clamp(-0.5, 0.5), 0.04, rounds) for rounds in (3, 0)]
    same_function(answer, balanced, large, OF_LARGE_OUTPUTS, "(B, K)", differentiable=False)
    outputs, temperature, rounds = draws[0]
    with named_by_details(NOT_CUT):
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


def _clamped(answer) -> Mistake:
    def function(outputs, temperature, rounds):
        alike = agree(given(answer, outputs + 50, temperature, rounds), torch.full_like(outputs, 1 / outputs.shape[1]))
        return given(answer, outputs, temperature, rounds) if alike else None

    sentence = "Outputs are clamped: where all of them are large, every class gets the same share."
    return Mistake("outputs-clamped", sentence, function)


def _wrong_without_rounds(answer) -> Mistake:
    # Would mislead: in general, a function that is right in the first draws alone may have a size that is hard-coded.
    def function(outputs, temperature, rounds):
        return balanced(outputs, temperature, rounds) if rounds else given(answer, outputs, temperature, rounds)

    sentence = "With `rounds=0`, the result is not the softmax; else it is correct."
    return Mistake("no-softmax-without-rounds", sentence, function)


NOT_CUT = Known(  # would mislead: in general, such a call "would cut the gradient"
    "Can't call numpy", "gradient-not-cut", "Outputs with a gradient were handed to NumPy as they are."
)

MISTAKES = [
    Mistake(
        "rows-first",
        "Rows are divided before the first column is: in the first round, or by a softmax at the start.",
        {"turn": lambda shares: columns(rows(shares))},
    ),
    Mistake(
        "rows-alone", "Only rows are divided: the columns stay as unequal as a softmax leaves them.", {"turn": rows}
    ),
    Mistake(
        "columns-alone",
        "In the rounds, only columns are divided; the rows are divided once at the end.",
        {"turn": columns},
    ),
    Mistake(
        "own-largest-subtracted",
        (
            "The largest output of each row is subtracted: before columns are divided, that changes how much "
            "each image counts."
        ),
        {"start": lambda outputs, t: ((outputs - outputs.amax(1, keepdim=True)) / t).exp()},
    ),
    Mistake(
        "softmax-over-the-batch",
        "The first table is a softmax of each column; with no rounds, no column is to be divided.",
        {"start": lambda outputs, t: (outputs / t).softmax(0)},
    ),
    Mistake(
        "largest-of-the-column",
        "The largest output of each column is subtracted; with no rounds, that changes the shares.",
        {"start": lambda outputs, t: ((outputs - outputs.amax(0)) / t).exp()},
    ),
    Mistake(
        "temperature-multiplied",
        "The outputs are multiplied by the temperature.",
        {"start": lambda outputs, t: (outputs * t).exp()},
    ),
    Mistake(
        "temperature-without-effect",
        "The result is that of temperature 1, whatever the temperature is.",
        {"start": lambda outputs, t: outputs.exp()},
    ),
    Mistake(
        "centred-first",
        "The mean of each column is subtracted from the outputs first.",
        {"start": lambda outputs, t: ((outputs - outputs.mean(0)) / t).exp()},
    ),
    Mistake("three-rounds", "There are three rounds, whatever `rounds` is.", {"times": lambda rounds: 3}),
    Mistake("one-round-too-many", "There is one round too many.", {"times": lambda rounds: rounds + 1}),
    Mistake(
        "one-answer-each",
        "Each row has its largest share replaced by 1 and the others by 0.",
        {"end": lambda shares: F.one_hot(shares.argmax(1), shares.shape[1]).float()},
    ),
]

OF_LARGE_OUTPUTS = [
    Mistake(
        "overflow",
        "For large outputs, exp gives infinity, and then the shares are NaN.",
        {"start": lambda outputs, t: (outputs / t).exp()},
    ),
    Mistake(  # would mislead: all equal, they look like averages
        "infinity-replaced",
        "Numbers that are too large are all replaced by the same one, so different outputs become equal.",
        {"start": lambda outputs, t: (outputs / t).exp().nan_to_num()},
        {"start": lambda outputs, t: (outputs / t).clamp(max=80).exp()},
    ),
]
