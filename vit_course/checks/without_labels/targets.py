"""Exercise without_labels.targets: targets balanced over a batch."""

import torch
import torch.nn.functional as F

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.common import given
from vit_course.checks.tools.functions import same_function
from vit_course.checks.tools.mistakes import Known, Slip, named_by_details, wrong_functions
from vit_course.checks.tools.tensors import agree


def targets(answer, draw):
    """`answer(outputs, temperature, rounds)`: (B, K), a float, an int -> (B, K)."""
    draws = [(_outputs(draw), temperature, rounds) for temperature, rounds in ((0.5, 2), (0.4, 4), (0.7, 0))]
    mistakes = [*wrong_functions(MISTAKES, balanced, pairs=4), *wrong_functions(_clamped(answer))]
    with named_by_details(*ERRORS):
        same_function(answer, balanced, draws, mistakes, "(B, K)", differentiable=False)
    # Outputs whose exponentials are too large for float32, although none is far from the largest.
    large = [(10 + _outputs(draw).clamp(-0.5, 0.5), 0.04, rounds) for rounds in (3, 0)]
    same_function(answer, balanced, large, wrong_functions(LARGE), "(B, K)", differentiable=False)
    outputs, temperature, rounds = draws[0]
    with named_by_details(*ERRORS):
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


def _clamped(answer) -> list[Slip]:
    def function(outputs, temperature, rounds):
        alike = agree(given(answer, outputs + 50, temperature, rounds), torch.full_like(outputs, 1 / outputs.shape[1]))
        return given(answer, outputs, temperature, rounds) if alike else None

    sentence = "Outputs are clamped: where all of them are large, every class gets the same share."
    return [Slip("outputs-clamped", sentence, function)]


ERRORS = [
    Known(
        "must match the size|broadcast|size mismatch",
        "sums-do-not-fit",
        "A table is divided by sums that do not line up with its rows or its columns.",
    ),
    Known("Can't call numpy", "gradient-not-cut", "Outputs with a gradient were handed to NumPy as they are."),
]

MISTAKES = {
    "turn": [
        Slip(
            "rows-first",
            "Rows are divided before the first column is: in the first round, or by a softmax at the start.",
            lambda t: columns(rows(t)),
        ),
        Slip("rows-alone", "Only rows are divided: the columns stay as unequal as a softmax leaves them.", rows),
        Slip(
            "columns-alone", "In the rounds, only columns are divided; the rows are divided once at the end.", columns
        ),
        Slip(
            "divided-at-once",
            "Rows and columns are divided by sums of the same table, not one after the other.",
            lambda t: t / t.sum(0, keepdim=True) / t.sum(1, keepdim=True),
        ),
        Slip(
            "means-subtracted",
            "The means of the columns are subtracted, as by a centre; the columns are not divided.",
            lambda t: rows((t.log() - t.log().mean(0, keepdim=True)).exp()),
        ),
        Slip(
            "softmax-of-shares",
            "A softmax is applied to numbers that are already shares.",
            lambda t: columns(t).softmax(1),
            lambda t: rows(t.softmax(0)),
            lambda t: t.softmax(0).softmax(1),
        ),
        Slip(
            "largest-for-sums",
            "Columns or rows are divided by their largest number, not by their sum.",
            lambda t: rows(t / t.amax(0, keepdim=True)),
        ),
    ],
    "start": [
        Slip(
            "own-largest-subtracted",
            (
                "The largest output of each row is subtracted: before columns are divided, that changes how much "
                "each image counts."
            ),
            lambda o, t: ((o - o.amax(1, keepdim=True)) / t).exp(),
        ),
        Slip(
            "own-mean-subtracted",
            "The mean of each row is subtracted: before columns are divided, that changes how much each image counts.",
            lambda o, t: ((o - o.mean(1, keepdim=True)) / t).exp(),
        ),
        Slip(
            "softmax-over-the-batch",
            "The first table is a softmax of each column; with no rounds, no column is to be divided.",
            lambda o, t: (o / t).softmax(0),
        ),
        Slip(
            "largest-of-the-column",
            "The largest output of each column is subtracted; with no rounds, that changes the shares.",
            lambda o, t: ((o - o.amax(0, keepdim=True)) / t).exp(),
        ),
        Slip("temperature-multiplied", "The outputs are multiplied by the temperature.", lambda o, t: (o * t).exp()),
        Slip(
            "temperature-without-effect",
            "The result is that of temperature 1, whatever the temperature is.",
            lambda o, t: (o - o.max()).exp(),
        ),
        Slip(
            "no-exponential", "There is no exponential: the outputs themselves are divided by sums.", lambda o, t: o / t
        ),
        Slip("base-of-two", "The power is of 2, not of e.", lambda o, t: ((o - o.max()) / t).exp2()),
        Slip(
            "centred-first",
            "The mean of each column is subtracted from the outputs first.",
            lambda o, t: ((o - o.mean(0) - (o - o.mean(0)).max()) / t).exp(),
        ),
    ],
    "times": [
        Slip("one-round", "There is one round, whatever `rounds` is.", lambda n: 1),
        Slip("three-rounds", "There are three rounds, whatever `rounds` is.", lambda n: 3),
        Slip("one-round-too-many", "There is one round too many.", lambda n: n + 1),
        Slip("one-round-too-few", "There is one round too few.", lambda n: max(n - 1, 0)),
        Slip(
            "many-rounds",
            "There are so many rounds that nothing changes any more, whatever `rounds` is.",
            lambda n: 100,
        ),
    ],
    "end": [
        Slip("columns-last", "At the end, columns are divided, so the rows do not sum to 1.", columns),
        Slip("rows-sum-to-a-share", "The whole table sums to 1, so a row sums to 1 / B.", lambda t: t / t.sum()),
        Slip("rows-sum-to-k", "The shares of a row sum to K, not to 1.", lambda t: rows(t) * t.shape[1]),
        Slip("logarithms", "The result holds the logarithms of the shares.", lambda t: rows(t).log()),
        Slip(
            "one-answer-each",
            "Each row has its largest share replaced by 1 and the others by 0.",
            lambda t: F.one_hot(t.argmax(1), t.shape[1]).float(),
        ),
    ],
    "result": [
        Slip(
            "no-softmax-without-rounds",
            "Without rounds, the rows of the result do not sum to 1.",
            lambda outputs, temperature, rounds: balanced(outputs, temperature, rounds, end=lambda t: t),
            lambda outputs, temperature, rounds: balanced(
                outputs, temperature, rounds, end=lambda t: t / t.sum() * len(t)
            ),
            lambda outputs, temperature, rounds: balanced(
                outputs, temperature, rounds, end=lambda t: t if rounds else t * len(t)
            ),
            lambda outputs, temperature, rounds: (
                (outputs / temperature).exp() if rounds == 0 else balanced(outputs, temperature, rounds)
            ),
            lambda outputs, temperature, rounds: (
                (outputs / temperature).exp() * len(outputs) if rounds == 0 else balanced(outputs, temperature, rounds)
            ),
        ),
        Slip(
            "axes-exchanged",
            "Rows and columns are exchanged throughout.",
            lambda outputs, temperature, rounds: balanced(outputs.T, temperature, rounds).T,
        ),
    ],
}

LARGE = [
    Slip(
        "overflow",
        "For large outputs, exp gives infinity, and then the shares are NaN.",
        lambda outputs, temperature, rounds: balanced(outputs, temperature, rounds, start=lambda o, t: (o / t).exp()),
    ),
    Slip(
        "infinity-replaced",
        "Numbers that are too large are all replaced by the same one, so different outputs become equal.",
        lambda outputs, temperature, rounds: balanced(
            outputs, temperature, rounds, start=lambda o, t: (o / t).exp().nan_to_num()
        ),
        lambda outputs, temperature, rounds: balanced(
            outputs, temperature, rounds, start=lambda o, t: torch.full_like(o, 1.0)
        ),
    ),
]
