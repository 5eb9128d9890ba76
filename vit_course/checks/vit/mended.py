"""Exercise vit.mended: a whole model, to be mended."""

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.logits import logits
from vit_course.checks.tools.modules import alone, build, count, feed, repeats, scatter, trained_by
from vit_course.checks.tools.slips import named_by_details
from vit_course.checks.tools.table import known, refuse
from vit_course.checks.tools.tensors import agree, equal
from vit_course.checks.tools.whole_embedding import tokens_and_blocks
from vit_course.checks.tools.whole_parts import WholeParts, distinct_sizes
from vit_course.config import ViTConfig
from vit_course.vit import ViT


@exercise("6.3", "Debug a whole model", section="Four equations, one class", difficulty=3, minutes=15, seconds=60)
def mended(answer, draw):
    """`answer(config)` -> a module (B, C, H, W) -> (B, K), made from a `ViTConfig`; its parts named as you like."""
    for layers, batch in ((3, 3), (2, 2)):
        sizes, _ = distinct_sizes(draw, layers)
        config = ViTConfig(**sizes)
        model = build(answer, config)
        images = draw.normal(batch, config.in_channels, *config.image_size)
        with named_by_details(*known(__name__, "errors")):
            logits(feed(model, images), images, sizes)
        model.eval()
        _parameters_of(model, config)
        scatter(model, draw)
        out = logits(feed(model, images), images, sizes)
        repeats(model, images)
        _is_logits(out)
        alone(model, images, axes="(B, K)")
        _sees_every_patch(model, images, config)
        for changed in (images + 1, 2 * images):
            if agree(feed(model, changed), out):
                raise Wrong(
                    "brightness-lost", "The output is the same for brighter images: each is normalised by itself."
                )
        _reads_the_class_token(model, images, config, draw)
        _uses_everything(model, images, draw)
        trained_by(model, images, draw)
        parts = WholeParts(model, sizes)
        if parts.known:
            tokens_and_blocks(parts, images, layers, config.num_heads, draw)


def _parameters_of(model: nn.Module, config: ViTConfig) -> None:
    reference = ViT(config)
    expected, found, d = count(reference), count(model), config.hidden_dim
    details = [f"Expected: {expected} parameters with D = {d}, L = {config.num_layers}", f"Received: {found}"]
    rows = [_squeezed(p) for p in model.parameters()]
    refuse(__name__, "parameters-of", locals(), details)
    block, head = count(reference.encoder.blocks[0]), (d + 1) * config.num_classes
    if found != expected and (found - expected) % block == 0:
        raise Wrong("wrong-number-of-blocks", "There are not as many blocks as the config says.", details)
    for number, slug, sentence in (
        (2 * d, "norm-too-many", "There is a scale and a shift of a norm more than in this model."),
        (-2 * d, "norm-missing", "A norm with its scale and its shift is missing, or has no parameters."),
        (d, "a-vector-too-many", "There is one vector of width D more than in this model."),
        (-d, "a-vector-missing", "One vector of width D is missing, such as the class token or a bias."),
        (-config.num_classes, "head-without-bias", "The head has no bias."),
        (-head, "no-head", "The head is missing."),
        (d * d + d, "hidden-layer-in-head", "There is one matrix of D x D with its bias more than in this model."),
    ):
        if found == expected + number:
            raise Wrong(slug, sentence, details)
    if found != expected:
        raise Wrong("wrong-parameters", "The number of parameters is not that of this model.", details)


def _is_logits(out: torch.Tensor) -> None:
    ones = torch.ones(len(out))
    refuse(__name__, "is-logits", locals())


def _sees_every_patch(model: nn.Module, images: torch.Tensor, config: ViTConfig) -> None:
    images = images.clone().requires_grad_()
    out = feed(model, images)
    if not out.requires_grad:
        raise Wrong("gradient-cut", "No gradient passes through the model, so it could not be trained.")
    slopes = torch.autograd.grad(out.square().sum(), images, allow_unused=True)[0]
    slopes = torch.zeros_like(images) if slopes is None else slopes
    reached = F.max_pool2d(slopes.abs().amax(dim=1), config.patch_size) > 0  # (B, rows, columns)
    refuse(__name__, "sees-every-patch", locals())
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
    received = feed(model, images)
    normed = F.layer_norm(table, (d,), eps=1e-6)

    context = ["All matrices were set to 0, but the head and the positions: a token is its row of positions."]
    expected = (normed[0] @ head.T).expand_as(received)
    _name_what_is_read(model, images, config, draw, received, expected, table, head, context)
    equal(received, expected, axes="(B, K)", context=context)
    with torch.no_grad():
        for parameter in embedding:
            parameter.copy_(draw.normal(*parameter.shape))
    if not agree(feed(model, images), expected):
        raise Wrong(
            "patch-read",
            "The head reads the token of a patch: with an attention that adds nothing, the output still depends on "
            "the image.",
        )


def _name_what_is_read(model, images, config, draw, received, expected, table, head, context) -> None:
    normed = F.layer_norm(table, table.shape[1:], eps=1e-6)

    def is_read(tokens):
        return agree(received, (tokens @ head.T).expand_as(received))

    for rows in (normed, table):
        if is_read(rows[-1]):
            equal(received, expected, "last-token-read", "The head reads the last token.", "(B, K)", context=context)
        if is_read(rows.mean(dim=0)) or is_read(rows[1:].mean(dim=0)):
            equal(received, expected, "mean-read", "The head reads a mean of tokens.", "(B, K)", context=context)
        if any(is_read(row) for row in rows[1:]):
            equal(received, expected, "patch-read", "The head reads the token of a patch.", "(B, K)", context=context)
    if agree(received, torch.zeros_like(received)):
        raise Wrong("no-positions", "The positions have no part in the output, though they are learned.", context)
    for slug, sentence, tokens in (
        ("tokens-added-up", "The head reads the sum of all tokens.", normed.sum(dim=0)),
        ("largest-numbers-read", "The head reads the largest number over all tokens.", normed.amax(dim=0)),
        *(
            ("function-before-head", "A function stands between the last norm and the head.", function(normed[0] + 1))
            for function in _FUNCTIONS
        ),
    ):
        if is_read(tokens):
            equal(received, expected, slug, sentence, "(B, K)", context=context)
    if any(agree(received, function(expected)) for function in _FUNCTIONS):
        sentence = "A function acts on the logits: the head is not the last step."
        equal(received, expected, "function-behind-head", sentence, "(B, K)", context=context)
    if is_read(table[0]) and _positions_come_late(model, images, config, draw):
        sentence = "The positions are added behind the blocks: no block knows of them."
        equal(received, expected, "positions-behind-blocks", sentence, "(B, K)", context=context)
    if is_read(table[0]):
        sentence = "The head gets what the last block gives as it is: no norm stands between them."
        equal(received, expected, "no-last-norm", sentence, "(B, K)", context=context)


_FUNCTIONS = (torch.relu, F.gelu, torch.tanh, torch.sigmoid)


def _positions_come_late(model: nn.Module, images: torch.Tensor, config: ViTConfig, draw) -> bool:
    # Whether the position of a patch never reaches the class token.
    scatter(model, draw)
    before = feed(model, images)
    with torch.no_grad():
        for parameter in model.parameters():
            if _squeezed(parameter) == (config.num_tokens, config.hidden_dim):
                rows = parameter.view(config.num_tokens, config.hidden_dim)
                rows[1:] += draw.normal(config.num_patches, config.hidden_dim)
    return agree(feed(model, images), before)


def _uses_everything(model: nn.Module, images: torch.Tensor, draw) -> None:
    scatter(model, draw)
    model.zero_grad()
    feed(model, images).square().sum().backward()
    unused = [tuple(p.shape) for p in model.parameters() if p.requires_grad and p.grad is None]
    if unused:
        raise Wrong(
            "unused-parameters",
            "Some of the parameters have no part in the output.",
            [f"The first of them has the shape {unused[0]}"],
        )


def _squeezed(parameter: torch.Tensor) -> tuple[int, ...]:
    return tuple(size for size in parameter.shape if size > 1)
