"""Answers to exercise training.groups."""

from torch import nn

from answers import UNKNOWN, Answers

answers = Answers("training.groups")

answers.edits(
    ("inner-layers-missed", "model.modules()", "model.children()"),
    ("everything-decays", '"weight_decay": 0.0', '"weight_decay": weight_decay'),
    ("nothing-decays", '"weight_decay": weight_decay', '"weight_decay": 0.0'),
    ("other-decay", '"weight_decay": weight_decay', '"weight_decay": 0.05'),
    ("key-missing", "0.0", "None"),
)


def groups_of(decay, rest, weight_decay):
    """What the function returns, from two lists of parameters."""
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def split(model, kinds=(nn.Linear, nn.Conv2d)):
    """-> the matrices of the layers of these kinds, and all other parameters"""
    matrices = {layer.weight for layer in model.modules() if isinstance(layer, kinds)}
    return [p for p in model.parameters() if p in matrices], [p for p in model.parameters() if p not in matrices]


@answers.right
def by_set_of_parameters(model, weight_decay):
    return groups_of(*split(model), weight_decay=weight_decay)


@answers.right
def rest_first(model, weight_decay):
    decay, rest = split(model)
    return [{"params": iter(rest), "weight_decay": 0, "lr": 0.001}, {"params": decay, "weight_decay": weight_decay}]


@answers.right
def layer_by_layer(model, weight_decay):
    decay, rest = [], []
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            is_matrix = isinstance(module, nn.Linear | nn.Conv2d) and name == "weight"
            (decay if is_matrix else rest).append(p)
    return groups_of(decay, [p for p in rest if p.requires_grad], weight_decay)


@answers.wrong("convolution-forgotten")
def convolution_forgotten(model, weight_decay):
    return groups_of(*split(model, (nn.Linear,)), weight_decay=weight_decay)


@answers.wrong("norms-decay")
def norms_decay(model, weight_decay):
    return groups_of(*split(model, (nn.Linear, nn.Conv2d, nn.LayerNorm)), weight_decay=weight_decay)


@answers.wrong("groups-swapped")
def groups_swapped(model, weight_decay):
    decay, rest = split(model)
    return groups_of(rest, decay, weight_decay)


@answers.wrong("tables-decay")
def tables_decay(model, weight_decay):
    decay = [p for p in model.parameters() if p.ndim > 1]
    return groups_of(decay, [p for p in model.parameters() if p.ndim <= 1], weight_decay)


@answers.wrong("two-axes-decay")
def two_axes_decay(model, weight_decay):
    decay = [p for p in model.parameters() if p.ndim == 2]
    return groups_of(decay, [p for p in model.parameters() if p.ndim != 2], weight_decay)


@answers.wrong("wrong-kinds-decay")
def all_of_the_layers_decays(model, weight_decay):
    layers = [m for m in model.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    decay = {p for layer in layers for p in layer.parameters()}
    return groups_of(list(decay), [p for p in model.parameters() if p not in decay], weight_decay)


@answers.wrong("judged-by-name")
def judged_by_name(model, weight_decay):
    decay, rest = [], []
    for name, p in model.named_parameters():
        (decay if name.endswith("weight") and "norm" not in name else rest).append(p)
    return groups_of(decay, rest, weight_decay)


@answers.wrong("look-for-identity")
def judged_by_numbers(model, weight_decay):
    matrices = [m.weight for m in model.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    decay, rest = [], []
    for p in model.parameters():
        equal = any(p.shape == matrix.shape and (p == matrix).all() for matrix in matrices)
        (decay if equal else rest).append(p)
    return groups_of(decay, rest, weight_decay)


@answers.wrong("tensors-compared")
def looked_up_in_a_list(model, weight_decay):
    matrices = [m.weight for m in model.modules() if isinstance(m, nn.Linear | nn.Conv2d)]
    decay = [p for p in model.parameters() if p in matrices]
    return groups_of(decay, [p for p in model.parameters() if p not in matrices], weight_decay)


@answers.wrong("parameters-missing")
def parameters_missing(model, weight_decay):
    return [{"params": split(model)[0], "weight_decay": weight_decay}]


@answers.wrong("parameters-frozen")
def parameters_frozen(model, weight_decay):
    decay, rest = split(model)
    for p in rest:
        p.requires_grad_(False)
    return groups_of(decay, rest, weight_decay)


@answers.wrong("in-two-places")
def in_two_places(model, weight_decay):
    return groups_of(split(model)[0], list(model.parameters()), weight_decay)


@answers.wrong("not-the-models-own")
def names_for_parameters(model, weight_decay):
    decay, _ = split(model)
    rest = [name for name, p in model.named_parameters() if all(p is not matrix for matrix in decay)]
    return groups_of(decay, rest, weight_decay)


@answers.wrong("wrong-type")
def sets_for_lists(model, weight_decay):
    decay, rest = split(model)
    return groups_of(set(decay), set(rest), weight_decay)


@answers.wrong("returned-nothing")
def returned_nothing(model, weight_decay):
    groups_of(*split(model), weight_decay=weight_decay)


@answers.wrong(UNKNOWN)
def layers_without_bias_forgotten(model, weight_decay):
    layers = [m for m in model.modules() if isinstance(m, nn.Linear | nn.Conv2d) and m.bias is not None]
    matrices = {layer.weight for layer in layers}
    decay = [p for p in model.parameters() if p in matrices]
    return groups_of(decay, [p for p in model.parameters() if p not in matrices], weight_decay)
