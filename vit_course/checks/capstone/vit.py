"""Exercise capstone.vit: the whole model."""

from collections import Counter

import torch
from torch import nn

from vit_course.checks.capstone.shared import counted
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import build, count
from vit_course.checks.tools.tensors import agree, equal, tensor
from vit_course.config import ViTConfig
from vit_course.vit import ViT


@exercise("The whole model", section="Six steps, six checks", difficulty=3, minutes=15)
def vit(answer, draw):
    """`answer(image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim)`."""
    for _ in range(2):
        rows, columns, patch, channels = draw.sizes(4, low=2, high=5)
        batch, layers = draw.sizes(2, low=2, high=4)
        heads, classes = draw.choose([2, 3, 5]), draw.choose([6, 7, 9])
        width = 4 * heads
        sizes = dict(
            image_size=(rows * patch, columns * patch), patch_size=patch, in_channels=channels, num_classes=classes,
            hidden_dim=width, num_layers=layers, num_heads=heads, mlp_dim=3 * width,
        )  # fmt: skip
        model = build(answer, **sizes)
        images = draw.normal(batch, channels, *sizes["image_size"])
        logits = tensor(call(model, images), (batch, classes), "(B, classes)", "the logits")
        logits.square().sum().backward()
        unused = sum(p.numel() for p in model.parameters() if p.requires_grad and p.grad is None)
        if unused:
            raise Wrong(
                "unused-parameters", "Part of the model has no share in the logits.", [f"Received: {unused} numbers"]
            )
        _vit_parameters(model, sizes)
        _randomise(model, draw)
        model.eval()
        logits = call(model, images)
        equal(call(model, images), logits, "random-result", "In eval mode, one image gives two results.")
        equal(
            call(model, images[:1]), logits[:1], "batch-mates-matter", "An image's logits change with its batch mates."
        )
        _reads_the_class_token(answer, sizes, images, draw)
        _every_patch_counts(model, images, patch)
        shuffled = images.unflatten(2, (rows, patch)).flip(2).flatten(2, 3)
        if agree(call(model, shuffled), logits):
            raise Wrong("no-positions", "Rows of patches can change places and no logit changes: places are not told.")


def _vit_parameters(model: nn.Module, sizes: dict) -> None:
    width, layers = sizes["hidden_dim"], sizes["num_layers"]
    right = count(ViT(ViTConfig(**sizes)))
    one_block = right - count(ViT(ViTConfig(**(sizes | {"num_layers": layers - 1}))))
    bias = 3 * width * layers
    number = (sizes["image_size"][0] // sizes["patch_size"]) * (sizes["image_size"][1] // sizes["patch_size"])
    known = {}
    for whole in (right, right - bias):
        known |= {
            whole - 2 * width: ("no-last-norm", "The norm after the last block is missing, or has no parameters."),
            whole - width: ("a-row-missing", "One vector of width D is missing among class token and positions."),
            whole - (number + 1) * width: ("no-positions", "There are no learned positions."),
            whole - 2 * width - number * width: ("no-positions", "There is neither a class token nor positions."),
        }
    for shared in range(1, layers):
        known[right - shared * one_block] = ("blocks-shared", "The blocks are not L different ones.")
    known[right - layers * one_block] = (
        "blocks-not-registered",
        "The blocks are not part of the module: no parameters.",
    )
    counted(model, {right, right - bias}, known, f"D = {width}, L = {layers}, N = {number}")


def _randomise(model: nn.Module, draw) -> None:
    # Learned parts may start at 0, which would hide what they do.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * draw.normal(*parameter.shape))


def _reads_the_class_token(answer, sizes: dict, images: torch.Tensor, draw) -> None:
    # With silent blocks no token knows of another, and the class token knows nothing of the image. The matrices of a
    # block are those whose shapes a second block brings.
    model, deeper = (build(answer, **(sizes | {"num_layers": layers})).eval() for layers in (1, 2))
    of_a_block = Counter(p.shape for p in deeper.parameters()) - Counter(p.shape for p in model.parameters())
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.copy_(draw.normal(*parameter.shape) * (parameter.shape not in of_a_block))
            elif not (parameter == 1).all():  # the scales of the norms stay
                parameter.zero_()
    before, after = call(model, images), call(model, images + draw.normal(*images.shape))
    equal(
        after,
        before,
        "wrong-token-read",
        "The logits are not read from the class token: they change with the image although the blocks are silent.",
        axes="(B, classes)",
    )


def _every_patch_counts(model: nn.Module, images: torch.Tensor, patch: int) -> None:
    images = images.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(call(model, images).square().sum(), images)
    reached = gradient.abs().amax((0, 1)).unflatten(0, (-1, patch)).unflatten(2, (-1, patch)).amax((1, 3)) > 0
    if not reached.all():
        raise Wrong(
            "patches-lost",
            "Some patches have no influence on the logits.",
            [f"Expected: all {reached.numel()} patches count", f"Received: {int(reached.sum())} do"],
        )
