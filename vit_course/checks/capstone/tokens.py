"""Exercise capstone.tokens: class token and positions, as one module."""

import torch
from torch import nn

from vit_course.checks.capstone.shared import counted
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import build
from vit_course.checks.tools.tensors import agree, equal, tensor


@exercise("Class token and positions", section="Six steps, six checks", difficulty=2, minutes=8)
def tokens(answer, draw):
    """`answer(num_patches, hidden_dim)` -> a module (B, N, D) -> (B, N + 1, D), both parts learned."""
    for _ in range(2):
        batch, number, width = draw.sizes(3)
        module = build(answer, number, width)
        x = draw.normal(batch, number, width)
        tensor(call(module, x), (batch, number + 1, width), "(B, N + 1, D)", "the output")
        _token_parameters(module, number, width)
        with torch.no_grad():  # random, because learned parts may well start at 0
            for parameter in module.parameters():
                parameter.copy_(draw.normal(*parameter.shape))
        module.eval()
        out, shifted = call(module, x), call(module, x + 1)
        if agree(shifted[:, -1], out[:, -1]) and agree(shifted[:, :-1], out[:, :-1] + 1):
            raise Wrong("class-token-last", "The class token stands behind the patches.")
        equal(
            shifted[:, 0],
            out[:, 0],
            "class-token-from-image",
            "The first token changes with the image: it belongs to every image alike.",
            axes="(B, D)",
        )
        equal(
            out[:1, 0].expand(batch, -1), out[:, 0], "class-token-per-image", "The class token differs between images."
        )
        added = out[:, 1:] - x
        equal(
            shifted[:, 1:] - out[:, 1:],
            torch.ones_like(x),
            "not-added",
            "The patch tokens do not come through as they were with something added.",
            axes="(B, N, D)",
        )
        equal(
            added[:1].expand_as(added), added, "position-per-image", "What is added to a patch differs between images."
        )
        if agree(added[:, 0], added[:, 1]):
            raise Wrong("no-positions", "Two patches get the same added: nothing tells one place from another.")
        zero = call(module, torch.zeros(1, number, width))
        stored = [p.detach().flatten() for p in module.parameters() if p.numel() == width]
        if any(agree(zero[0, 0], token) for token in stored):
            raise Wrong(
                "class-token-without-position",
                "The class token comes out as it is stored: it was put in front after the positions were added.",
            )


def _token_parameters(module: nn.Module, number: int, width: int) -> None:
    right = (number + 2) * width
    counted(
        module,
        {right},
        {
            right - width: ("positions-for-patches-only", "There is a row too few: one token gets no position."),
            0: ("no-parameters", "Nothing here can be learned."),
            width: ("positions-not-learned", "The class token is learned, the positions are not."),
            (number + 1) * width + number * width: ("class-token-per-patch", "There is a class token for each patch."),
        },
        f"N = {number}, D = {width}",
    )
