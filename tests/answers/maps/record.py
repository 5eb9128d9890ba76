"""Answers to exercise maps.record."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from answers import right, unforeseen, wrong


def hooked(model, images, modules=None, take=lambda inputs, output: output, tidy=True):
    """Records with forward hooks and takes them off again."""
    kept = []
    handles = [
        module.register_forward_hook(lambda _, inputs, output: kept.append(take(inputs, output)))
        for module in (modules or model.encoder.blocks)
    ]
    try:
        model(images)
    finally:
        for handle in handles if tidy else []:
            handle.remove()
    return kept


@right("maps.record")
def with_hooks(model, images):
    return torch.stack(hooked(model, images), dim=1)


@right("maps.record")
def without_gradient(model, images):
    with torch.no_grad():
        return torch.stack([kept.clone() for kept in hooked(model, images)]).transpose(0, 1)


@right("maps.record")
def by_hand(model, images):
    z = model.dropout(model.positions(model.class_token(model.patch_embedding(images))))
    kept = []
    for block in model.encoder.blocks:
        z = block(z)
        kept.append(z[:, None])
    return torch.cat(kept, dim=1)


@right("maps.record")
def inputs_of_what_follows(model, images):
    kept = []
    following = [*model.encoder.blocks[1:], model.encoder.norm]
    handles = [m.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0])) for m in following]
    try:
        model(images)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(kept, 1)


@right("maps.record")
def mode_put_back(model, images):
    was = model.training
    model.eval()
    try:
        return with_hooks(model, images)
    finally:
        model.train(was)


@right("maps.record")
def forward_put_back(model, images):
    kept, before = [], [block.forward for block in model.encoder.blocks]
    for block, forward in zip(model.encoder.blocks, before, strict=True):
        block.forward = lambda z, forward=forward: kept.append(forward(z)) or kept[-1]
    try:
        model(images)
    finally:
        for block, forward in zip(model.encoder.blocks, before, strict=True):
            block.forward = forward
    return torch.stack(kept, 1)


@right("maps.record")
def on_a_copy(model, images):
    return with_hooks(copy.deepcopy(model), images)


@right("maps.record")
def hook_for_all_modules(model, images):
    kept, blocks = [], set(model.encoder.blocks)
    handle = nn.modules.module.register_module_forward_hook(lambda m, _, out: kept.append(out) if m in blocks else None)
    try:
        model(images)
    finally:
        handle.remove()
    return torch.stack(kept, 1)


@wrong("maps.record", "inputs-recorded")
def inputs_of_blocks(model, images):
    return torch.stack(hooked(model, images, take=lambda inputs, output: inputs[0]), 1)


@wrong("maps.record", "attention-recorded")
def attention_outputs(model, images):
    return torch.stack(hooked(model, images, [block.attention for block in model.encoder.blocks]), 1)


@wrong("maps.record", "mlp-recorded")
def mlp_outputs(model, images):
    return torch.stack(hooked(model, images, [block.mlp for block in model.encoder.blocks]), 1)


@wrong("maps.record", "after-the-last-norm")
def norm_for_the_last(model, images):
    return torch.stack(hooked(model, images, [*model.encoder.blocks[:-1], model.encoder.norm]), 1)


@wrong("maps.record", "input-counted-as-layer")
def all_states(model, images):
    return torch.stack(hooked(model, images, [model.positions, *model.encoder.blocks]), 1)


@wrong("maps.record", "layers-before-batch")
def stacked_first(model, images):
    return torch.stack(hooked(model, images))


@wrong("maps.record", "last-block-only")
def overwritten(model, images):
    return hooked(model, images)[-1]


@wrong("maps.record", "class-token-only")
def class_tokens(model, images):
    return with_hooks(model, images)[:, :, 0]


@wrong("maps.record", "class-token-dropped")
def patches_only(model, images):
    return with_hooks(model, images)[:, :, 1:]


for slug, change in {
    "layers-reversed": lambda found: found.flip(1),
    "layers-after-tokens": lambda found: found.transpose(1, 2),
    "tokens-side-by-side": lambda found: found.flatten(1, 2),
    "layers-in-the-batch": lambda found: torch.cat(found.unbind(1)),
    "first-image-alone": lambda found: found[0],
    "batch-of-one": lambda found: found.squeeze(),
    "last-block-missing": lambda found: found[:, :-1],
    "tokens-averaged": lambda found: found.mean(2),
    "numpy-array": lambda found: found.detach().numpy(),
}.items():
    wrong("maps.record", slug)(lambda model, images, change=change: change(with_hooks(model, images)))

for slug, modules, take in (
    ("norm-recorded", lambda m: [b.norm1 for b in m.encoder.blocks], lambda inputs, output: output),
    ("middle-recorded", lambda m: [b.norm2 for b in m.encoder.blocks], lambda inputs, output: inputs[0]),
    ("encoder-recorded", lambda m: [m.encoder], lambda inputs, output: output),
):
    wrong("maps.record", slug)(lambda m, x, w=modules, take=take: torch.stack(hooked(m, x, w(m), take), 1))


@wrong("maps.record", "blocks-not-chained")
def each_alone(model, images):
    z = model.positions(model.class_token(model.patch_embedding(images)))
    return torch.stack([block(z) for block in model.encoder.blocks], 1)


@wrong("maps.record", "random-result")
def with_dropout(model, images):
    return F.dropout(with_hooks(model, images), 0.1)


@wrong("maps.record", "returned-nothing")
def no_return(model, images):
    hooked(model, images)


@wrong("maps.record", "wrong-type")
def as_list(model, images):
    return hooked(model, images)


@wrong("maps.record", "first-image-alone")
def output_taken_for_a_tuple(model, images):
    return torch.stack(list(with_hooks(model, images)[0]), 1)


def _with(hook):
    def recorded(model, images):
        handles = [block.register_forward_hook(hook) for block in model.encoder.blocks]
        try:
            model(images)
        finally:
            for handle in handles:
                handle.remove()

    return recorded


wrong("maps.record", "hook-takes-three")(_with(lambda module, output: None))
wrong("maps.record", "hook-gives-no-tokens")(_with(lambda module, inputs, output: [output]))


@unforeseen("maps.record")
def doubled(model, images):
    return 2 * with_hooks(model, images)


@unforeseen("maps.record")
def scaled_head(model, images):
    kept = with_hooks(model, images)
    with torch.no_grad():
        model.head.weight.mul_(2)
    return kept


@wrong("maps.record", "class-token-and-positions-missing")
def patches_alone(model, images):
    z, kept = model.patch_embedding(images), []
    for block in model.encoder.blocks:
        kept.append(z := block(z))
    return torch.stack(kept, 1)


@wrong("maps.record", "blocks-twice")
def run_twice(model, images):
    return torch.cat([with_hooks(model, images)] * 2, 1)


@wrong("maps.record", "blocks-sought-in-the-model")
def no_encoder(model, images):
    return torch.stack([block(images) for block in model.blocks], 1)


@wrong("maps.record", "keeps-results")
def list_as_a_default(model, images, kept=[]):  # noqa: B006
    handles = [block.register_forward_hook(lambda m, i, o: kept.append(o)) for block in model.encoder.blocks]
    try:
        model(images)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack(kept, dim=1)
