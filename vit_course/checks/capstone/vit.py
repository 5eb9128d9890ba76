"""Exercise capstone.vit: the whole model."""

from collections import Counter

import torch
from torch import nn

from vit_course.checks.capstone.shared import counted
from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.logits import logits
from vit_course.checks.tools.modules import alone, build, count, feed, repeats, scatter, trained_by
from vit_course.checks.tools.slips import Known, named_by_details
from vit_course.checks.tools.table import known, values
from vit_course.checks.tools.tensors import agree, equal
from vit_course.checks.tools.whole_embedding import tokens_and_blocks
from vit_course.checks.tools.whole_parts import WholeParts, distinct_sizes
from vit_course.config import ViTConfig
from vit_course.vit import ViT


@exercise("12.5", "The whole model", section="Six steps, six checks", difficulty=3, minutes=15, seconds=60)
def vit(answer, draw):
    """`answer(image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim)`."""
    for layers, batch in ((3, 3), (2, 2)):
        sizes, (rows, _) = distinct_sizes(draw, layers)
        patch = sizes["patch_size"]
        with named_by_details(*known(__name__, "errors-at-first")):
            model = build(answer, **sizes)
        images = draw.normal(batch, sizes["in_channels"], *sizes["image_size"])
        with named_by_details(*_errors(images, sizes)):
            logits(_fed(model, images), images, sizes, "(B, classes)")
        _vit_parameters(model, sizes)
        model.eval()
        scatter(model, draw)
        repeats(model, images)
        trained_by(model, images, draw)
        alone(model, images, axes="(B, classes)")
        out = logits(feed(model, images), images, sizes, "(B, classes)")
        parts = WholeParts(model, sizes)
        _reads_the_class_token(answer, sizes, images, draw)
        _every_patch_counts(model, images, patch)
        shuffled = images.unflatten(2, (rows, patch)).flip(2).flatten(2, 3)
        if agree(feed(model, shuffled), out):
            raise Wrong("no-positions", "Rows of patches can change places and no logit changes: places are not told.")
        if parts.known:
            tokens_and_blocks(parts, images, layers, sizes["num_heads"], draw)


def _errors(images: torch.Tensor, sizes: dict) -> tuple[Known, ...]:
    tokens = images[0, 0].numel() // sizes["patch_size"] ** 2 + 1
    other = rf"(?!{tokens}\b)\d+"
    length = rf"tensor a \({tokens}\) must match the size of tensor b \({other}\) at non-singleton dimension 1"
    return (
        Known(length, "table-of-another-length",
              f"There are {tokens} tokens, and what is added to them, such as the positions, has another length."),
        Known(r"size of \d+ channels|to have \d+ channels, but got", "channels-of-ones-own",
              "The module takes images of another number of channels than in_channels says."),
    )  # fmt: skip


def _fed(model: nn.Module, images: torch.Tensor):
    try:
        return feed(model, images)
    except Wrong as wrong:
        if wrong.mistake != "raised-error":
            raise
        try:
            feed(model, images[:1])
        except Wrong:
            raise wrong from None
        raise Wrong(
            "one-image-only", "A batch of one image goes through, a larger one does not.", wrong.details
        ) from None


def _vit_parameters(model: nn.Module, sizes: dict) -> None:
    width, layers, inner = sizes["hidden_dim"], sizes["num_layers"], sizes["mlp_dim"]
    right = count(ViT(ViTConfig(**sizes)))
    one_block = right - count(ViT(ViTConfig(**(sizes | {"num_layers": layers - 1}))))
    bias = 3 * width * layers
    number = (sizes["image_size"][0] // sizes["patch_size"]) * (sizes["image_size"][1] // sizes["patch_size"])
    known = {}
    for whole in (right, right - bias):
        known |= values(__name__, "parameters", locals() | {"whole": whole})
    for blocks in range(1, layers):
        sentence = f"As many numbers are learned as with {blocks} of the L = {layers} blocks: some are missing, or one "
        known[right - (layers - blocks) * one_block] = ("blocks-shared", f"{sentence}is used for several.")
    known[right - layers * one_block] = (
        "blocks-not-registered",
        "The blocks are not part of the module: no parameters.",
    )
    counted(model, {right, right - bias}, known, f"D = {width}, L = {layers}, N = {number}")


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
    before, after = feed(model, images), feed(model, images + draw.normal(*images.shape))
    equal(
        after,
        before,
        "wrong-token-read",
        "The logits are not read from the class token: they change with the image although the blocks are silent.",
        axes="(B, classes)",
    )


def _every_patch_counts(model: nn.Module, images: torch.Tensor, patch: int) -> None:
    images = images.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(feed(model, images).square().sum(), images)
    reached = gradient.abs().amax((0, 1)).unflatten(0, (-1, patch)).unflatten(2, (-1, patch)).amax((1, 3)) > 0
    if not reached.all():
        words = "Some patches have" if reached.any() else "No patch has an"
        why = "" if reached.any() else ": does the attention run over the batch in the place of the tokens?"
        raise Wrong(
            "patches-lost",
            f"{words} influence on the logits{why or '.'}",
            [f"Expected: all {reached.numel()} patches count", f"Received: {int(reached.sum())} do"],
        )
