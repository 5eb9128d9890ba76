"""Exercise vit.mended: a whole model, to be mended."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.modules import build, count
from vit_course.checks.tools.tensors import agree, equal, tensor
from vit_course.config import ViTConfig
from vit_course.vit import ViT


@exercise("Debug a whole model", section="Four equations, one class", difficulty=3, minutes=15)
def mended(answer, draw):
    """`answer(config)` -> a module (B, C, H, W) -> (B, K), made from a `ViTConfig`; its parts named as you like."""
    for _ in range(2):
        config, batch = _config(draw)
        model = build(answer, config)
        images = draw.normal(batch, config.in_channels, *config.image_size)
        tensor(call(model, images), (batch, config.num_classes), "(B, K)", "the output")
        model.eval()
        _parameters_of(model, config)
        _scatter(model, draw)
        out = tensor(call(model, images), (batch, config.num_classes), "(B, K)", "the output")
        equal(call(model, images), out, "random-result", "Called twice with the same images, it gives two results.")
        _is_logits(out)
        equal(
            torch.cat([call(model, image[None]) for image in images]),
            out,
            "batch-mates-matter",
            "The output for one image changes with the other images of the batch.",
            axes="(B, K)",
            what="the output for each image alone",
        )
        _sees_every_patch(model, images, config)
        for changed in (images + 1, 2 * images):
            if agree(call(model, changed), out):
                raise Wrong(
                    "brightness-lost", "The output is the same for brighter images: each is normalised by itself."
                )
        _reads_the_class_token(model, images, config, draw)
        _uses_everything(model, images, draw)


def _config(draw) -> tuple[ViTConfig, int]:
    # Sizes that tell the parameters apart by their shapes.
    while True:
        batch, channels, patch, rows, columns, classes = draw.sizes(6, low=2, high=7)
        heads, width = draw.choose([(2, 4), (2, 5), (3, 4), (4, 3), (5, 2)])
        hidden = heads * width
        sizes = [hidden, 3 * hidden, 2 * hidden + 3, rows * columns + 1, rows * columns, classes, patch**2 * channels]
        if len(set(sizes)) == len(sizes):
            size = (rows * patch, columns * patch)
            return ViTConfig(size, patch, classes, hidden, 2, heads, 2 * hidden + 3, channels), batch


def _parameters_of(model: nn.Module, config: ViTConfig) -> None:
    reference = ViT(config)
    expected, found, d = count(reference), count(model), config.hidden_dim
    details = [f"Expected: {expected} parameters with D = {d}, L = {config.num_layers}", f"Received: {found}"]
    rows = [_squeezed(p) for p in model.parameters()]
    if found == 0:
        raise Wrong("no-parameters", "The model has no parameters: its parts are no attributes of it.", details)
    if found == expected - (config.num_layers - 1) * count(reference.encoder.blocks[0]):
        raise Wrong("one-block-shared", "There is one block, and every layer uses it again.", details)
    if (config.num_patches, d) in rows and (config.num_tokens, d) not in rows:
        raise Wrong("table-for-patches-only", "The table of positions has a row for each patch and no other.", details)
    if found == expected - config.num_tokens * d:
        raise Wrong("no-positions", "The positions are not among the parameters.", details)
    if found != expected:
        raise Wrong("wrong-parameters", "The number of parameters is not that of this model.", details)


def _scatter(model: nn.Module, draw) -> None:
    # Nothing below depends on how the learner's parameters start.
    with torch.no_grad():
        for parameter in model.parameters():
            spread = 1 / math.sqrt(max(parameter[0].numel(), 1)) if parameter.ndim > 1 else 0.5
            parameter.copy_(spread * draw.normal(*parameter.shape))


def _is_logits(out: torch.Tensor) -> None:
    ones = torch.ones(len(out))
    if (out >= 0).all() and agree(out.sum(dim=1), ones):
        raise Wrong(
            "softmax-in-model",
            "The numbers of each image sum to 1: a softmax follows the head, and the loss would do it a second time.",
        )
    if agree(out.exp().sum(dim=1), ones):
        raise Wrong("log-softmax-in-model", "These are logarithms of probabilities: the head is not the last step.")


def _sees_every_patch(model: nn.Module, images: torch.Tensor, config: ViTConfig) -> None:
    images = images.clone().requires_grad_()
    out = call(model, images)
    if not out.requires_grad:
        raise Wrong("gradient-cut", "No gradient passes through the model, so it could not be trained.")
    slopes = torch.autograd.grad(out.square().sum(), images, allow_unused=True)[0]
    slopes = torch.zeros_like(images) if slopes is None else slopes
    reached = F.max_pool2d(slopes.abs().amax(dim=1), config.patch_size) > 0  # (B, rows, columns)
    if not reached.any():
        raise Wrong("image-not-seen", "The output is the same whatever the images are: nothing of them reaches it.")
    if not reached.all():
        row, column = (~reached).nonzero()[0, 1:].tolist()
        raise Wrong("patch-not-seen", f"The patch in row {row}, column {column} has no part in the output.")


def _reads_the_class_token(model: nn.Module, images: torch.Tensor, config: ViTConfig, draw) -> None:
    # All matrices 0, all vectors of length D 1: then attention and MLP add one number to all of a token, which a norm
    # takes away again, and so does a head whose rows sum to 0. What is left of a token is its row of positions.
    t, d, k = config.num_tokens, config.hidden_dim, config.num_classes
    table, head = 2 * draw.normal(t, d), draw.normal(k, d)
    head -= head.mean(dim=1, keepdim=True)
    embedding = []
    with torch.no_grad():
        for parameter in model.parameters():
            shape = _squeezed(parameter)
            if shape == (t, d):
                parameter.copy_(table.reshape(parameter.shape))
            elif shape in ((k, d), (d, k)):
                parameter.copy_((head if shape == (k, d) else head.T).reshape(parameter.shape))
            else:
                parameter.fill_(float(shape == (d,)))
            if parameter.numel() == config.patch_size**2 * config.in_channels * d:
                embedding.append(parameter)
    received = call(model, images)
    normed = F.layer_norm(table, (d,), eps=1e-6)

    def is_read(tokens):
        return agree(received, (tokens @ head.T).expand_as(received))

    context = ["All matrices were set to 0, but the head and the positions: a token is its row of positions."]
    expected = (normed[0] @ head.T).expand_as(received)
    for rows in (normed, table):
        if is_read(rows[-1]):
            equal(received, expected, "last-token-read", "The head reads the last token.", "(B, K)", context=context)
        if is_read(rows.mean(dim=0)) or is_read(rows[1:].mean(dim=0)):
            equal(received, expected, "mean-read", "The head reads a mean of tokens.", "(B, K)", context=context)
        if any(is_read(row) for row in rows[1:]):
            equal(received, expected, "patch-read", "The head reads the token of a patch.", "(B, K)", context=context)
    if is_read(table[0]):
        sentence = "The head gets what the last block gives as it is: no norm stands between them."
        equal(received, expected, "no-last-norm", sentence, "(B, K)", context=context)
    equal(received, expected, axes="(B, K)", context=context)
    with torch.no_grad():
        for parameter in embedding:
            parameter.copy_(draw.normal(*parameter.shape))
    if not agree(call(model, images), expected):
        raise Wrong(
            "patch-read",
            "The head reads the token of a patch: with an attention that adds nothing, the output still depends on "
            "the image.",
        )


def _uses_everything(model: nn.Module, images: torch.Tensor, draw) -> None:
    _scatter(model, draw)
    model.zero_grad()
    call(model, images).square().sum().backward()
    unused = [tuple(p.shape) for p in model.parameters() if p.requires_grad and p.grad is None]
    if unused:
        raise Wrong(
            "unused-parameters",
            "Some of the parameters have no part in the output.",
            [f"The first of them has the shape {unused[0]}"],
        )


def _squeezed(parameter: torch.Tensor) -> tuple[int, ...]:
    return tuple(size for size in parameter.shape if size > 1)
