"""Exercise maps.record: the output of every block, recorded with hooks."""

import copy

import torch
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.maps.shared import small_model
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.functions import Mistake, same_function
from vit_course.vit import ViT


@exercise("The output of every block", section="Record the weights", difficulty=2, minutes=12)
def record(answer, draw):
    """`answer(model, images)`: a `ViT` and (B, C, H, W) -> (B, L, T, D), what each block gives; no trace is left."""
    draws = []
    for _ in range(2):
        (rows, columns), (batch, layers) = draw.sizes(2, 2, 4), draw.sizes(2, 2, 6)
        heads, width = draw.choose([(2, 5), (3, 4), (4, 3)])
        model = small_model(draw, (rows, columns), layers, heads, width)
        draws.append((model, draw.normal(batch, 3, *model.config.image_size)))

    def outputs(model, images, keep=lambda block, x: block(x), axis=1):
        x = model.positions(model.class_token(model.patch_embedding(images)))  # (B, T, D)
        kept = []
        for block in model.encoder.blocks:
            kept.append(keep(block, x))
            x = block(x)
        return torch.stack(kept, dim=axis)

    def after_the_last_norm(model, images):
        found = outputs(model, images)
        return torch.cat([found[:, :-1], model.encoder.norm(found[:, -1:])], dim=1)

    same_function(
        answer,
        outputs,
        draws,
        axes="(B, L, T, D)",
        differentiable=False,
        mistakes=[
            Mistake(
                "inputs-recorded",
                "What is recorded is what goes into each block, not what comes out.",
                lambda m, x: outputs(m, x, lambda block, z: z),
            ),
            Mistake(
                "attention-recorded",
                "What is recorded is what the attention layers give, before the residual and the MLP.",
                lambda m, x: outputs(m, x, lambda block, z: block.attention(block.norm1(z))),
            ),
            Mistake(
                "mlp-recorded",
                "What is recorded is what the MLPs give, before it is added to what was there.",
                lambda m, x: outputs(
                    m, x, lambda block, z: block.mlp(block.norm2(z + block.attention(block.norm1(z))))
                ),
            ),
            Mistake(
                "after-the-last-norm",
                "The last layer's entry was taken behind the norm that follows the blocks.",
                after_the_last_norm,
            ),
            Mistake(
                "input-counted-as-layer",
                "There is one entry too many: the tokens before the first block are counted as a layer.",
                lambda m, x: torch.cat([outputs(m, x, lambda block, z: z)[:, :1], outputs(m, x)], dim=1),
            ),
            Mistake(
                "layers-before-batch",
                "The layers come before the batch.",
                lambda m, x: outputs(m, x, axis=0),
            ),
            Mistake("last-block-only", "Only the last block is there.", lambda m, x: outputs(m, x)[:, -1]),
            Mistake("class-token-only", "Only the class token is there.", lambda m, x: outputs(m, x)[:, :, 0]),
            Mistake("class-token-dropped", "The class token is missing.", lambda m, x: outputs(m, x)[:, :, 1:]),
        ],
    )
    model, images = draws[0]
    _no_trace(answer, model, images)
    _no_trace_of_an_error(answer, model, images)


def _hooks(model: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in model.modules())


def _no_trace(answer, model: ViT, images: torch.Tensor) -> None:
    model = copy.deepcopy(model)
    with torch.no_grad():
        before, state = model(images), copy.deepcopy(model.state_dict())
    model.train()
    call(answer, model, images)
    if _hooks(model):
        raise Wrong(
            "hooks-left",
            "Hooks are still on the model after your function has returned, and go on recording.",
            ["Expected: 0 hooks after the call", f"Received: {_hooks(model)}"],
        )
    if any("forward" in vars(module) for module in model.modules()):
        raise Wrong("forward-replaced", "A module of the model has another forward method than before.")
    if not all(module.training for module in model.modules()):
        raise Wrong(
            "mode-changed",
            "The model was in training mode before the call and is not after it.",
            ["Expected: training mode, as before", "Received: evaluation mode"],
        )
    model.eval()
    with torch.no_grad():
        after = model(images)
    if {*model.state_dict()} != {*state} or not torch.equal(before, after):
        raise Wrong(
            "wrong-behaviour",
            "The model does not give the same after the call as before it.",
            ["Expected: the logits before the call", "Received: others"],
        )


def _no_trace_of_an_error(answer, model: ViT, images: torch.Tensor) -> None:
    model, patch = copy.deepcopy(model), model.config.patch_size
    too_high = torch.cat([images, images[:, :, :patch]], dim=2)  # (B, C, H + P, W)
    try:
        answer(model, too_high)
    except Exception:
        if _hooks(model):
            raise Wrong(
                "hooks-left-after-error",
                "After images of the wrong size, for which the model raises an error, hooks stay on the model.",
                ["Expected: 0 hooks after the error", f"Received: {_hooks(model)}"],
            ) from None
    else:
        raise Wrong(
            "error-hidden",
            "For images of the wrong size the model raises an error, and your function returns as if nothing were.",
            [f"Input:    images {tuple(too_high.shape)} for a model of {model.config.image_size}"],
        )
