"""Answers to exercise training.groups."""

import copy

import torch
from torch import nn

from answers import right, unforeseen, wrong
from vit_course.training import parameter_groups


@right("training.groups")
def of_the_package(model, weight_decay):
    return parameter_groups(model, weight_decay)


@right("training.groups")
def by_module(model, weight_decay):
    decay, rest = [], []
    for module in model.modules():
        for name, p in module._parameters.items():
            if p is not None:
                matrix = isinstance(module, (nn.Conv2d, nn.Linear)) and name == "weight"
                (decay if matrix else rest).append(p)
    return [{"params": rest, "weight_decay": 0}, {"params": decay, "weight_decay": weight_decay}]


@right("training.groups")
def a_group_each(model, weight_decay):
    matrices = {m.weight for m in model.modules() if isinstance(m, (nn.Linear, nn.modules.conv._ConvNd))}
    return [dict(params=p, weight_decay=weight_decay if p in matrices else 0.0, lr=1e-3) for p in model.parameters()]


@right("training.groups")
def with_full_names(model, weight_decay):
    names = {f"{n}.weight" for n, m in model.named_modules() if isinstance(m, (nn.Linear, nn.Conv2d))}
    named = list(model.named_parameters())
    return [
        {"params": (p for n, p in named if n in names), "weight_decay": weight_decay},
        {"params": (p for n, p in named if n not in names), "weight_decay": 0.0},
    ]


def _groups(mistake, rule, values=None):
    @wrong("training.groups", mistake)
    def answer(model, weight_decay):
        of = {id(p): m for m in model.modules() for p in m.parameters(recurse=False)}
        decay = [p for n, p in model.named_parameters() if rule(n, p, of[id(p)])]
        rest = [p for n, p in model.named_parameters() if not rule(n, p, of[id(p)])]
        high, low = values(weight_decay) if values else (weight_decay, 0.0)
        return [{"params": decay, "weight_decay": high}, {"params": rest, "weight_decay": low}]

    answer.__name__ = mistake


def _matrix(n, p, m):
    return isinstance(m, (nn.Linear, nn.Conv2d)) and p.ndim > 1


_groups("judged-by-name", lambda n, p, m: n.endswith("weight") and "norm" not in n)
_groups("judged-by-name", lambda n, p, m: not any(w in n for w in ("norm", "bias", "token", "table")))
_groups("everything-decays", lambda n, p, m: True)
_groups("nothing-decays", lambda n, p, m: False)
_groups("groups-swapped", lambda n, p, m: not _matrix(n, p, m))
_groups("groups-swapped", _matrix, lambda decay: (0.0, decay))
_groups("tables-decay", lambda n, p, m: p.ndim >= 2)
_groups("two-axes-decay", lambda n, p, m: p.ndim == 2)
_groups("biases-decay", lambda n, p, m: _matrix(n, p, m) or n.endswith("bias"))
_groups("biases-and-norms-decay", lambda n, p, m: p.ndim == 1 or _matrix(n, p, m))
_groups("norms-decay", lambda n, p, m: not isinstance(m, nn.Module) or n.endswith("weight"))
_groups("all-but-biases-decay", lambda n, p, m: not n.endswith("bias"))
_groups("convolution-forgotten", lambda n, p, m: isinstance(m, nn.Linear) and p.ndim == 2)
_groups("linear-forgotten", lambda n, p, m: isinstance(m, nn.Conv2d) and p.ndim == 4)
_groups("wrong-kinds-decay", lambda n, p, m: isinstance(m, (nn.Linear, nn.Conv2d)) or p.ndim == 3)
_groups("wrong-kinds-decay", lambda n, p, m: p.ndim in (2, 4))
_groups("other-decay", _matrix, lambda decay: (0.05, 0.0))
_groups("other-decay", _matrix, lambda decay: (decay, decay / 10))


@wrong("training.groups", "parameters-missing")
def no_rest(model, weight_decay):
    return parameter_groups(model, weight_decay)[:1]


@wrong("training.groups", "parameters-missing")
def layers_only(model, weight_decay):
    layers = [m for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d, nn.LayerNorm))]
    weights = [m.weight for m in layers if not isinstance(m, nn.LayerNorm)]
    rest = [p for m in layers for p in m.parameters() if all(p is not w for w in weights)]
    return [{"params": weights, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


@wrong("training.groups", "tensors-compared")
def looked_for_in_a_list(model, weight_decay):
    matrices = [m.weight for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
    rest = [p for p in model.parameters() if p not in matrices]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


@wrong("training.groups", "parameters-frozen")
def frozen(model, weight_decay):
    decay, rest = parameter_groups(model, weight_decay)
    for parameter in rest["params"]:
        parameter.requires_grad = False
    return [decay, rest]


@wrong("training.groups", "in-two-places")
def twice(model, weight_decay):
    matrices = parameter_groups(model, weight_decay)[0]
    return [matrices, {"params": list(model.parameters()), "weight_decay": 0.0}]


@wrong("training.groups", "key-missing")
def default_decay(model, weight_decay):
    decay, rest = parameter_groups(model, weight_decay)
    return [decay, {"params": rest["params"]}]


@wrong("training.groups", "not-the-models-own")
def names_for_parameters(model, weight_decay):
    return [{"params": [name for name, _ in model.named_parameters()], "weight_decay": weight_decay}]


@wrong("training.groups", "not-the-models-own")
def copies(model, weight_decay):
    return parameter_groups(copy.deepcopy(model), weight_decay)


@unforeseen("training.groups")
def without_the_head(model, weight_decay):
    matrices = [m.weight for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d)) and m.bias is not None]
    rest = [p for p in model.parameters() if all(p is not matrix for matrix in matrices)]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


@wrong("training.groups", "inner-layers-missed")
def only_the_top(model, weight_decay):
    matrices = {m.weight for m in model.children() if isinstance(m, (nn.Linear, nn.Conv2d))}
    rest = [p for p in model.parameters() if p not in matrices]
    return [{"params": [*matrices], "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def _alike(mistake, alike):
    @wrong("training.groups", mistake)
    def answer(model, weight_decay):
        matrices = [m.weight for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv2d))]
        decay = [p for p in model.parameters() if any(alike(p, matrix) for matrix in matrices)]
        rest = [p for p in model.parameters() if not any(alike(p, matrix) for matrix in matrices)]
        return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]

    answer.__name__ = "alike"


_alike("look-for-identity", lambda p, matrix: p.shape == matrix.shape)
_alike("look-for-identity", torch.equal)


@wrong("training.groups", "set-of-parameters")
def sets(model, weight_decay):
    return [group | {"params": set(group["params"])} for group in parameter_groups(model, weight_decay)]
