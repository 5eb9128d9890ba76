"""Exercise training.groups: which parameters decay, whatever their names."""

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.numbers import real
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse
from vit_course.checks.tools.words import capital, describe


@exercise(
    "7.3",
    "Which parameters decay, whatever their names",
    section="Clipping, warm-up, cosine, decay groups",
    difficulty=3,
    minutes=12,
)
def groups(answer, draw):
    """`answer(model, weight_decay)` -> a list of dicts for AdamW: matrices of Linear and Conv2d decay, the rest not."""
    for _ in range(2):
        sizes, weight_decay = draw.sizes(5), draw.choose([0.03, 0.07, 0.3])
        # In the same sizes, so that only the names can matter; and then a table that looks like a matrix.
        for names, alike in ((_PLAIN, False), (_MISLEADING, False), (_PLAIN, True)):
            model = _Named(names, *sizes, alike)
            with named_by_details(*known(__name__, "errors")):
                groups = call(answer, model, weight_decay)
            found = _decay_of_each(groups, model)
            misplaced = [entry for entry in found if entry[2] != (weight_decay if entry[0] in _MATRICES else 0)]
            if misplaced and alike:
                sentence = "A table and a matrix of one shape and with the same numbers are taken for one: two tensors "
                details = _details(*misplaced[0], weight_decay)
                raise Wrong("look-for-identity", f"{sentence}can look alike without being one object.", details)
            if misplaced:
                _name_the_mistake(found, misplaced, weight_decay, names is _MISLEADING)
            if not all(parameter.requires_grad for parameter in model.parameters()):
                sentence = "After the call some parameters ask for no gradients: not to decay is not to be frozen."
                raise Wrong("parameters-frozen", sentence)


_MATRICES = ("convolution", "linear")
_WORDS = {
    "convolution": "the matrix of a convolution",
    "linear": "the matrix of a linear layer",
    "bias": "the bias of a layer",
    "norm": "the scale of a norm",
    "shift": "the shift of a norm",
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

    def __init__(self, names, patch, channels, tokens, width, classes, alike):
        super().__init__()
        self.add_module(names["convolution"], nn.Conv2d(channels, width, patch, patch))
        block = nn.ModuleDict({names["norm"]: nn.LayerNorm(width), names["hidden"]: nn.Linear(width, width)})
        self.add_module("block", block)
        self.add_module(names["head"], nn.Linear(width, classes, bias=False))
        self.register_parameter(names["token"], nn.Parameter(torch.zeros(1, 1, width)))
        table = torch.zeros(tokens, width)
        if alike:  # as long as there are classes, and the head drawn as zeros too
            table = nn.init.zeros_(self.get_submodule(names["head"]).weight).detach().clone()
        self.register_parameter(names["table"], nn.Parameter(table))


def _decay_of_each(received, model) -> list[tuple[str, str, float]]:
    """-> (kind, name, decay) of each parameter, where `received` is a list of groups that holds each of them once."""
    if received is None:
        raise Wrong("returned-nothing", "The result is None: nothing was returned.")
    kinds = {}
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            kind = {nn.Conv2d: "convolution", nn.Linear: "linear", nn.LayerNorm: "norm"}.get(type(module))
            kind = kind or ("token" if parameter.ndim == 3 else "table")
            kinds[id(parameter)] = ("shift" if kind == "norm" else "bias") if name == "bias" else kind
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
        if group["weight_decay"] is None:
            raise Wrong("wrong-type", "A group's weight_decay is None where a number is expected.")
        decay = real(group["weight_decay"])
        if isinstance(group["params"], (set, frozenset)):
            raise Wrong("set-of-parameters", "A group's params are a set, which has no order: AdamW takes none.")
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
            found[id(parameter)] = decay
    absent = sorted({kinds[key] for key in kinds if key not in found})
    if absent:
        raise Wrong(
            "parameters-missing",
            "Some parameters are in no group, so they would never be trained.",
            [f"Expected: {len(kinds)} parameters in all", f"Received: {len(found)}; missing: {', '.join(absent)}"],
        )
    return [(kinds[id(p)], name, found[id(p)]) for name, p in model.named_parameters()]


def _details(kind, name, received, weight_decay) -> list[str]:
    expected = weight_decay if kind in _MATRICES else 0
    return [f"Expected: decay {expected:g} for {name} ({_WORDS[kind]})", f"Received: {received:g}"]


def _name_the_mistake(found, misplaced, weight_decay, misleading: bool) -> None:
    details = _details(*misplaced[0], weight_decay)
    values = {decay for *_, decay in found}
    refuse(__name__, "name-the-mistake", locals(), details)
    for kinds, slug, sentence in (
        ({"convolution"}, "convolution-forgotten", "The matrix of the convolution does not decay."),
        ({"linear"}, "linear-forgotten", "The matrices of the linear layers do not decay."),
        ({"bias", "shift"}, "biases-decay", "The biases decay, though they multiply no input."),
        ({"norm"}, "norms-decay", "The norm's scale decays, though it is 1 by design."),
        ({"bias", "shift", "norm"}, "biases-and-norms-decay", "Biases and the norm's scale decay."),
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
    kinds = list(dict.fromkeys(kind for kind, *_ in misplaced))
    if misplaced == [entry for entry in found if entry[0] in kinds]:
        words = [("decays and should not", [k for k in kinds if k not in _MATRICES])]
        words.append(("should decay and does not", [k for k in kinds if k in _MATRICES]))
        said = [f"{', '.join(_WORDS[k] for k in these)} {does}" for does, these in words if these]
        raise Wrong("wrong-kinds-decay", f"{capital('; '.join(said))}.", details)
    if misplaced == [entry for entry in found if entry[0] in _MATRICES and entry[1].count(".") > 1]:
        sentence = "Only the layers at the top of the model are looked at, not those inside other modules."
        raise Wrong("inner-layers-missed", sentence, details)
    names = ", ".join(name for _, name, _ in misplaced)
    raise Wrong("wrong-behaviour", f"Parameters of one kind are treated differently; in the wrong group: {names}.",
                details)  # fmt: skip
