"""Exercise training.groups: which parameters decay, whatever their names."""

import torch
from torch import nn

from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.mistakes import Known, Mistake, named_by_details, refuse
from vit_course.checks.tools.returned import real
from vit_course.checks.tools.words import describe

MATRICES = ("the matrix of a convolution", "the matrix of a linear layer")
PLAIN = dict(convolution="patches", norm="norm", hidden="mix", head="head", token="token", table="table")
# Names that say something else than the layer is.
MISLEADING = dict(
    convolution="bias_free", norm="scale", hidden="norm_to_head", head="table", token="weight", table="linear_weight"
)


def groups(answer, draw):
    """`answer(model, weight_decay)` -> a list of dicts for AdamW: matrices of Linear and Conv2d decay, the rest not."""
    for _ in range(2):
        sizes, weight_decay = draw.sizes(5), draw.choose([0.03, 0.07, 0.3])
        # In the same sizes, so that only the names can matter; and then a table that looks like a matrix.
        for names, alike in ((PLAIN, False), (MISLEADING, False), (PLAIN, True)):
            model = Named(names, *sizes, alike)
            with named_by_details(COMPARED):
                received = call(answer, model, weight_decay)
            _judge(_decay_of_each(received, model), weight_decay, names is MISLEADING, alike)
            if not all(parameter.requires_grad for parameter in model.parameters()):
                sentence = "After the call, some parameters no longer require gradients: no decay does not mean frozen."
                raise Wrong("parameters-frozen", sentence)


class Named(nn.Module):
    """A convolution, a norm, two linear layers, a token and a position table under names of one's choice."""

    def __init__(self, names, patch, channels, tokens, width, classes, alike):
        super().__init__()
        self.add_module(names["convolution"], nn.Conv2d(channels, width, patch, patch))
        block = nn.ModuleDict({names["norm"]: nn.LayerNorm(width), names["hidden"]: nn.Linear(width, width)})
        self.add_module("block", block)
        head = nn.Linear(width, classes, bias=False)
        self.add_module(names["head"], head)
        self.register_parameter(names["token"], nn.Parameter(torch.zeros(1, 1, width)))
        table = torch.zeros(tokens, width)
        if alike:  # as long as there are classes, and the head drawn as zeros too
            table = nn.init.zeros_(head.weight).detach().clone()
        self.register_parameter(names["table"], nn.Parameter(table))

    def kinds(self) -> dict[int, str]:
        """What each parameter is, by its identity."""
        found = {id(p): "the class token" if p.ndim == 3 else "the position table" for p in self.parameters()}
        for module in self.modules():
            if isinstance(module, nn.LayerNorm):
                words = ("the scale of a norm", "the shift of a norm")
            elif isinstance(module, (nn.Linear, nn.Conv2d)):
                words = (MATRICES[isinstance(module, nn.Linear)], "the bias of a layer")
            else:
                continue
            found |= {id(p): word for p, word in zip((module.weight, module.bias), words, strict=True) if p is not None}
        return found


def _decay_of_each(received, model: Named) -> list[tuple[str, str, float]]:
    """-> (kind, name, decay) of each parameter, where `received` is a list of groups that holds each of them once."""
    kinds, found = model.kinds(), {}
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    if not isinstance(received, (list, tuple)) or not all(isinstance(group, dict) for group in received):
        raise Wrong("wrong-type", f"The result is {describe(received)} where a list of dicts is expected.")
    for group in received:
        for one in _parameters_of(group):
            parameter = one[1] if isinstance(one, tuple) else one  # with its name before it
            details = [f"Received: {describe(parameter)}"]
            if id(parameter) not in kinds:
                sentence = "A group holds something that is not a parameter of the model, such as a name or a copy."
                raise Wrong("not-the-models-own", sentence, details)
            if id(parameter) in found:
                sentence = "A parameter is in the groups more than once, so it would be updated twice."
                raise Wrong("in-two-places", sentence, details)
            found[id(parameter)] = real(group["weight_decay"])
    absent = sorted({kind for key, kind in kinds.items() if key not in found})
    if absent:
        raise Wrong(
            "parameters-missing",
            "Some parameters are in no group, so they would never be trained.",
            [f"Expected: {len(kinds)} parameters in all", f"Received: {len(found)}; missing: {', '.join(absent)}"],
        )
    return [(kinds[id(p)], name, found[id(p)]) for name, p in model.named_parameters()]


def _parameters_of(group: dict):
    """The parameters of a group, one or several, as the learner's code gives them."""
    missing = [key for key in ("params", "weight_decay") if group.get(key) is None]
    if missing:
        raise Wrong(
            "key-missing",
            f"A group has no {missing[0]!r}, or it is None: AdamW would refuse the group or use its default decay.",
            [f"Received: a dict with {', '.join(sorted(map(str, group))) or 'nothing'}"],
        )
    parameters = group["params"]
    if isinstance(parameters, torch.Tensor):
        return [parameters]
    if isinstance(parameters, (set, frozenset)) or not hasattr(parameters, "__iter__"):
        sentence = "The params of a group are not a list of parameters."
        raise Wrong("wrong-type", sentence, [f"Received: {describe(parameters)}"])
    return parameters


def _judge(found: list[tuple[str, str, float]], weight_decay: float, misleading: bool, alike: bool) -> None:
    right = {kind: weight_decay if kind in MATRICES else 0 for kind, *_ in found}
    misplaced = [entry for entry in found if entry[2] != right[entry[0]]]
    if not misplaced:
        return
    kind, name, decay = misplaced[0]
    details = [f"Expected: decay {right[kind]:g} for {name} ({kind})", f"Received: {decay:g}"]
    kinds, values = {kind for kind, *_ in misplaced}, {decay for *_, decay in found}
    whole = misplaced == [entry for entry in found if entry[0] in kinds]  # each of these kinds, with all it has
    refuse(
        MISPLACED,
        details,
        found=found,
        weight_decay=weight_decay,
        misleading=misleading,
        alike=alike,
        misplaced=misplaced,
        whole=whole,
        kinds=kinds,
        values=values,
    )
    if whole:
        lists = (("Decays but should not", kinds - {*MATRICES}), ("Should decay but does not", kinds & {*MATRICES}))
        sentence = " ".join(f"{does}: {', '.join(sorted(these))}." for does, these in lists if these)
        raise Wrong("wrong-kinds-decay", sentence, details)
    names = ", ".join(name for _, name, _ in misplaced)
    raise Wrong("wrong-behaviour", f"Parameters of one kind are treated differently; wrong: {names}.", details)


# taught: the second hint
COMPARED = Known(
    "(The size of tensor|Boolean value of Tensor)",
    "tensors-compared",
    "Tensors are compared by value; the question is whether two of them are the same object.",
)

MISPLACED = [
    # taught: the third hint
    Mistake(
        "look-for-identity",
        (
            "A table and a matrix with the same shape and the same numbers are treated as one: two tensors can be "
            "equal without being the same object."
        ),
        lambda seen: seen.alike,
    ),
    Mistake(
        "other-decay",
        "A group has a decay that is neither 0 nor the given one.",
        lambda seen: seen.values - {0, seen.weight_decay},
    ),
    Mistake(
        "judged-by-name",
        "Correct for a model with the usual names, but not for one with misleading names.",
        lambda seen: seen.misleading,
    ),
    Mistake("everything-decays", "Every parameter decays.", lambda seen: seen.values == {seen.weight_decay}),
    Mistake("nothing-decays", "No parameter decays.", lambda seen: seen.values == {0}),
    Mistake("groups-swapped", "The decays of the two groups are swapped.", lambda seen: seen.misplaced == seen.found),
    Mistake(
        "convolution-forgotten",
        "The matrix of the convolution does not decay.",
        lambda seen: seen.whole and seen.kinds == {MATRICES[0]},
    ),
    Mistake(
        "norms-decay",
        "The scale of the norm decays, although it is 1 by design.",
        lambda seen: seen.whole and seen.kinds == {"the scale of a norm"},
    ),
    Mistake(
        "tables-decay",
        "The class token and the position table decay, although they do not multiply any input.",
        lambda seen: seen.whole and seen.kinds == {"the class token", "the position table"},
    ),
    Mistake(
        "two-axes-decay",
        "Everything with two axes decays: the position table does, but the matrix of the convolution does not.",
        lambda seen: seen.whole and seen.kinds == {MATRICES[0], "the position table"},
    ),
    Mistake(
        "inner-layers-missed",
        "Only the top-level layers of the model are considered, not those inside other modules.",
        lambda seen: seen.misplaced == [one for one in seen.found if one[0] in MATRICES and one[1].count(".") > 1],
    ),
]
