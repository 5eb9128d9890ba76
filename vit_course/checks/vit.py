"""Checks of chapter 06: logits from parts, counting, predictions, batch mates, a whole model."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.overrides import TorchFunctionMode

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools import (
    Mistake,
    agree,
    build,
    call,
    count,
    describe,
    equal,
    same_answer,
    same_answers,
    same_function,
    same_values,
    tensor,
)
from vit_course.config import ViTConfig
from vit_course.encoder import Encoder
from vit_course.patches import PatchEmbedding
from vit_course.vit import ViT


@exercise("From images to logits", difficulty=2, minutes=10)
def logits(answer, draw):
    """`answer(images, patch_embedding, class_token, positions, blocks, norm, head)`: (B, C, H, W) -> (B, K).

    The class token is a tensor (1, 1, D), the positions are one (1, T, D), the blocks a list of modules.
    """
    draws = []
    for layers in (2, 3):
        batch, channels, rows, columns, patch, classes = draw.sizes(6)
        heads, width = draw.choose([(2, 5), (3, 4), (5, 2)])
        hidden = heads * width
        encoder = Encoder(layers, hidden, heads, 2 * hidden).eval()
        draws.append(
            (
                draw.normal(batch, channels, rows * patch, columns * patch),
                PatchEmbedding(patch, channels, hidden),
                draw.normal(1, 1, hidden),
                draw.normal(1, rows * columns + 1, hidden),
                list(encoder.blocks),
                encoder.norm,
                nn.Linear(hidden, classes),
            )
        )

    def variant(join=_in_front, run=_in_a_row, between=None, read=lambda z: z[:, 0], last=lambda out: out):
        def forward(images, patch_embedding, class_token, positions, blocks, norm, head):
            x = patch_embedding(images)
            z = join(x, class_token.expand(len(x), -1, -1), positions)
            z = run(z, blocks, norm)
            return last(head(read(between(z) if between else norm(z))))

        return forward

    same_function(
        answer,
        variant(),
        draws,
        axes="(B, K)",
        mistakes=[
            Mistake(
                "class-token-last",
                "The class token stands behind the patches, so every token gets the position of its neighbour.",
                variant(join=_behind),
            ),
            Mistake(
                "class-token-last",
                "The class token stands behind the patches, so every token gets the position of its neighbour.",
                variant(join=_behind, read=lambda z: z[:, -1]),
            ),
            Mistake(
                "positions-on-patches-only",
                "Positions are added to the patches alone: the class token joins without one.",
                variant(join=lambda x, token, positions: torch.cat([token, x + positions[:, 1:]], dim=1)),
            ),
            Mistake(
                "positions-shifted",
                "Positions are added before the class token joins, so each patch gets the row of the token before it.",
                variant(join=lambda x, token, positions: torch.cat([token, x + positions[:, :-1]], dim=1)),
            ),
            Mistake(
                "no-positions",
                "The positions have no part in the result: shuffled patches would give the same logits.",
                variant(join=lambda x, token, positions: torch.cat([token, x], dim=1)),
            ),
            Mistake(
                "residual-twice",
                "The input of each block is added to its output once more, though a block does so itself.",
                variant(run=_with_residual),
            ),
            Mistake(
                "blocks-not-chained",
                "Every block gets the first tokens, so only the last block has a part in the result.",
                variant(run=lambda z, blocks, norm: blocks[-1](z)),
            ),
            Mistake(
                "first-block-only",
                "Only the first block has a part in the result.",
                variant(run=lambda z, blocks, norm: blocks[0](z)),
            ),
            Mistake(
                "blocks-skipped",
                "No block has a part in the result.",
                variant(run=lambda z, blocks, norm: z),
            ),
            Mistake(
                "blocks-reversed",
                "The blocks run from the last to the first.",
                variant(run=lambda z, blocks, norm: _in_a_row(z, blocks[::-1], norm)),
            ),
            Mistake(
                "norm-after-every-block",
                "The last norm runs after every block, though each block has norms of its own.",
                variant(run=_normed_each_time, between=lambda z: z),
            ),
            Mistake(
                "norm-before-the-blocks",
                "The last norm runs before the blocks.",
                variant(run=lambda z, blocks, norm: _in_a_row(norm(z), blocks, norm), between=lambda z: z),
            ),
            Mistake(
                "no-last-norm",
                "The head gets what the last block gives as it is: one norm is never used.",
                variant(between=lambda z: z),
            ),
            Mistake(
                "last-token-read",
                "The head reads the last token, a patch at the bottom right.",
                variant(read=lambda z: z[:, -1]),
            ),
            Mistake(
                "first-patch-read",
                "The head reads the first patch.",
                variant(read=lambda z: z[:, 1]),
            ),
            Mistake(
                "mean-read",
                "The head reads a mean of tokens, though there is a token made for it.",
                variant(read=lambda z: z.mean(dim=1)),
            ),
            Mistake(
                "mean-read",
                "The head reads a mean of tokens, though there is a token made for it.",
                variant(read=lambda z: z[:, 1:].mean(dim=1)),
            ),
            Mistake(
                "first-image-read",
                "The index picks an image where it should pick a token: these are all tokens of the first image.",
                variant(read=lambda z: z[0]),
            ),
            Mistake(
                "all-tokens-read",
                "The head is applied to all tokens, and every one of them gets logits.",
                variant(read=lambda z: z),
            ),
            Mistake(
                "softmax-added",
                "These are probabilities: a softmax follows the head, and the loss would do it a second time.",
                variant(last=lambda out: out.softmax(dim=-1)),
            ),
            Mistake(
                "class-not-logits",
                "This is the winning class of each image, not a number for each class.",
                variant(last=lambda out: out.argmax(dim=-1)),
            ),
        ],
    )


def _in_front(x, token, positions):
    return torch.cat([token, x], dim=1) + positions


def _behind(x, token, positions):
    return torch.cat([x, token], dim=1) + positions


def _in_a_row(z, blocks, norm):
    for block in blocks:
        z = block(z)
    return z


def _with_residual(z, blocks, norm):
    for block in blocks:
        z = z + block(z)
    return z


def _normed_each_time(z, blocks, norm):
    for block in blocks:
        z = norm(block(z))
    return z


@exercise("The number of parameters", difficulty=2, minutes=10)
def parameters(answer, draw):
    """`answer(image_size, patch_size, in_channels, hidden_dim, num_layers, mlp_dim, num_classes)` -> int.

    The image size is (H, W); the model has a class token and learned positions.
    """
    draws = []
    for _ in range(3):
        rows, columns, patch, channels, layers, classes, hidden = draw.sizes(7)
        draws.append(((rows * patch, columns * patch), patch, channels, hidden, layers, 3 * hidden + 1, classes))

    def without(part):
        # The right number less what is forgotten, from the sizes.
        def wrong(image_size, p, c, d, layers, m, k):
            n = (image_size[0] // p) * (image_size[1] // p)
            return _counted(image_size, p, c, d, layers, m, k) - part(n, p, c, d, layers, m, k)

        return wrong

    same_values(
        answer,
        _counted,
        draws,
        mistakes=[
            Mistake(
                "one-vector-missing",
                "One vector of D numbers is missing: of the class token and its row of positions, only one is counted.",
                without(lambda n, p, c, d, layers, m, k: d),
            ),
            Mistake(
                "two-vectors-missing",
                "Two vectors of D numbers are missing, either around the class token or behind the last block.",
                without(lambda n, p, c, d, layers, m, k: 2 * d),
            ),
            Mistake(
                "biases-forgotten",
                "The linear layers are counted without their biases.",
                without(lambda n, p, c, d, layers, m, k: d + layers * (4 * d + m + d) + k),
            ),
            Mistake(
                "norms-forgotten",
                "No norm is counted, though each has numbers that it learns.",
                without(lambda n, p, c, d, layers, m, k: (2 * layers + 1) * 2 * d),
            ),
            Mistake(
                "one-norm-a-layer",
                "One norm is counted for each layer; attention and MLP each have their own.",
                without(lambda n, p, c, d, layers, m, k: layers * 2 * d),
            ),
            Mistake(
                "norms-half-counted",
                "Each norm is counted with D numbers; it has both a scale and a shift.",
                without(lambda n, p, c, d, layers, m, k: (2 * layers + 1) * d),
            ),
            Mistake(
                "positions-forgotten",
                "The table of positions is not counted.",
                without(lambda n, p, c, d, layers, m, k: (n + 1) * d),
            ),
            Mistake(
                "projection-forgotten",
                "Queries, keys and values are counted, and not the layer that mixes the heads.",
                without(lambda n, p, c, d, layers, m, k: layers * (d * d + d)),
            ),
            Mistake(
                "half-an-mlp",
                "Of the MLP, only the layer that widens is counted.",
                without(lambda n, p, c, d, layers, m, k: layers * (m * d + d)),
            ),
            Mistake(
                "one-layer-only",
                "A single layer is counted, as if all shared their weights.",
                without(
                    lambda n, p, c, d, layers, m, k: (layers - 1) * (4 * d * d + 4 * d + 2 * d * m + m + d + 4 * d)
                ),
            ),
            Mistake(
                "head-forgotten",
                "The head is not counted.",
                without(lambda n, p, c, d, layers, m, k: d * k + k),
            ),
            Mistake(
                "channels-forgotten",
                "The patch embedding is counted as if an image had one channel.",
                without(lambda n, p, c, d, layers, m, k: p * p * (c - 1) * d),
            ),
            Mistake(
                "embedding-per-patch",
                "Every patch is given an embedding matrix of its own; they share one.",
                without(lambda n, p, c, d, layers, m, k: (1 - n) * (p * p * c * d + d)),
            ),
        ],
    )


def _counted(image_size, patch_size, in_channels, hidden_dim, num_layers, mlp_dim, num_classes):
    config = ViTConfig(image_size, patch_size, num_classes, hidden_dim, num_layers, 1, mlp_dim, in_channels)
    return count(ViT(config))


@exercise("Predictions about a new model", difficulty=1, minutes=8)
def predicted(answer, draw, parts):
    """`answer()` -> {"features", "first_loss", "large_head", "parameters", "multiply_adds"}.

    Images of 48 x 32 pixels, P = 8, D = 96, L = 2, h = 4, M = 384, K = 20, batches of 4.
    """
    classes = 20
    config = ViTConfig((48, 32), 8, classes, hidden_dim=96, num_layers=2, num_heads=4, mlp_dim=384)
    larger = ViTConfig((96, 64), 8, classes, hidden_dim=96, num_layers=2, num_heads=4, mlp_dim=384)
    images = draw.normal(4, 3, 48, 32)
    received = call(answer)
    same_answers(
        received,
        {
            "features": tuple(ViT(config).features(images).shape),
            "first_loss": math.log(classes),
            "large_head": _first_loss_with_a_large_head(config, draw),
            "parameters": _more_parameters(config, larger),
            "multiply_adds": _more_operations(config, larger),
        },
        parts,
        mistakes={
            "features": {
                (4, 96): ("class-output-only", "This is the class output; `features` ends with every token."),
                (4, 20): ("logits-not-features", "These are the logits; `features` ends before the head."),
                (4, 25, 20): ("logits-not-features", "The head has been applied; `features` ends before it."),
                (4, 24, 96): ("class-token-forgotten", "The patches are all there; one token is not a patch."),
                (25, 96): ("batch-forgotten", "This is one image; there are four."),
                (4, 96, 25): ("tokens-and-width-swapped", "The width has become an axis in front of the tokens."),
            },
            "first_loss": {
                1 / classes: ("probability-not-loss", "This is the share of each class; the loss is made from it."),
                -math.log(classes): ("sign-lost", "A loss of this kind is never negative."),
                math.log2(classes): ("other-logarithm", "The logarithm has another base than the loss."),
                math.log10(classes): ("other-logarithm", "The logarithm has another base than the loss."),
                math.log(96): ("width-for-classes", "This is made from the width of the tokens."),
                math.log(4): ("batch-for-classes", "This is made from the size of the batch."),
                3: ("rounded-too-far", "Near, but rounded too far: three decimals are asked for."),
                0.0: ("no-loss", "A loss of 0 would mean that the model is sure of the right class."),
                1 - 1 / classes: ("share-of-errors", "This is the share of wrong guesses, not the loss."),
            },
            "large_head": {
                "the same": (
                    "guess-taken-for-undecided",
                    "To guess right one time in K is not the same as to give every class a share of 1/K.",
                ),
                "smaller": ("sure-and-right", "Large logits make the model sure, and nothing makes it right."),
            },
            "parameters": {
                "the same": ("table-forgotten", "One part has a row for each token, and there are more tokens."),
                "four times": (
                    "weights-for-each-token",
                    "The tokens share nearly all weights: more tokens do not bring more matrices.",
                ),
            },
            "multiply_adds": {
                "the same": (
                    "shared-weights-are-free",
                    "A shared weight is stored once and used for each token, and there are more tokens.",
                ),
                "twice": ("sides-not-areas", "The number of patches does not grow with one side alone."),
                "at most four times": ("products-forgotten", "A part of the cost grows faster than the tokens do."),
            },
        },
    )


def _first_loss_with_a_large_head(config: ViTConfig, draw) -> str:
    model, images = ViT(config).eval(), draw.normal(60, 3, *config.image_size)
    labels = torch.arange(60) % config.num_classes
    with torch.no_grad():
        model.head.weight.copy_(draw.normal(*model.head.weight.shape))
        loss = F.cross_entropy(model(images), labels).item()
    ratio = loss / math.log(config.num_classes)
    return "the same" if 0.9 < ratio < 1.1 else "larger" if ratio > 1 else "smaller"


def _more_parameters(config: ViTConfig, larger: ViTConfig) -> str:
    ratio = count(ViT(larger)) / count(ViT(config))
    return "the same" if ratio == 1 else "a little more" if ratio < 2 else "four times"


class _MultiplyAdds(TorchFunctionMode):
    # As FlopCounterMode counts, whose first use takes seconds.
    total = 0

    def __torch_function__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        name = getattr(function, "__name__", "")
        if name in ("linear", "conv2d"):
            self.total += out.numel() * args[1][0].numel()
        elif name in ("matmul", "__matmul__"):
            self.total += out.numel() * args[0].shape[-1]
        return out


def _more_operations(config: ViTConfig, larger: ViTConfig) -> str:
    counts = []
    for each in (config, larger):
        model, image = ViT(each).eval(), torch.zeros(1, 3, *each.image_size)
        with _MultiplyAdds() as counter, torch.no_grad():
            model(image)
        counts.append(counter.total)
    ratio = counts[1] / counts[0]
    if ratio <= 1:
        return "the same"
    return "twice" if ratio < 3 else "at most four times" if ratio <= 4 else "more than four times"


@exercise("A test for batch mates", difficulty=3, minutes=12)
def independent(answer, draw):
    """`answer(model, images)` -> True where the logits of no image depend on the others, False where they do."""
    for _ in range(2):
        batch, classes = draw.sizes(2, low=5)
        channels, height, width = draw.sizes(3, high=4)
        # Numbers with few digits, so that the first model computes without rounding; images differ in brightness.
        brightness = 5 * (draw.permutation(batch).view(-1, 1, 1, 1) - batch // 2)
        images = (3 * draw.normal(batch, channels, height, width)).round() + brightness
        weight = (3 * draw.normal(channels * height * width, classes)).round() / 256  # logits of size 1, about
        verdicts = []
        for kind in KINDS:
            received = call(answer, copy.deepcopy(kind(weight).eval()), images)
            if received is None:
                raise Wrong("returned-nothing", "The result is None: nothing was returned.")
            verdicts.append(_as_bool(received))
        _judge(verdicts, images)


class EachAlone(nn.Module):
    """Logits from the pixels by one matrix; the ones below add a dependence between images."""

    right = True

    def __init__(self, weight: torch.Tensor):
        super().__init__()
        self.weight = nn.Parameter(weight.clone())

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.mix(images.flatten(1) @ self.weight)

    def mix(self, out: torch.Tensor) -> torch.Tensor:
        return out


class EachAloneWithRounding(EachAlone):
    """The last digit is another one in a batch than alone, as happens in real matrix products."""

    def mix(self, out):
        return out * (1 + 2.0**-23) if out.dtype == torch.float32 and len(out) > 1 else out


class SubtractsBatchMean(EachAlone):
    """The order of the images does not matter."""

    right = False

    def forward(self, images):
        return super().forward(images - images.mean())


class ShiftsByBatch(EachAlone):
    """All logits of an image move alike, so the winning class stays."""

    right = False

    def mix(self, out):
        return out + out.mean()


class SeesNeighbour(EachAlone):
    """The logits of each image depend on one other image."""

    right = False

    def mix(self, out):
        return out + out.roll(1, dims=0)


class LastSeesAll(EachAlone):
    """Every image but the last is alone."""

    right = False

    def mix(self, out):
        return torch.cat([out[:-1], out.mean(dim=0, keepdim=True)])


class FirstSeesAll(EachAlone):
    """Every image but the first is alone."""

    right = False

    def mix(self, out):
        return torch.cat([out.mean(dim=0, keepdim=True), out[1:]])


KINDS = (
    EachAlone,
    EachAloneWithRounding,
    SubtractsBatchMean,
    ShiftsByBatch,
    SeesNeighbour,
    LastSeesAll,
    FirstSeesAll,
)


def _as_bool(received) -> bool:
    for verdict in (True, False):
        try:
            same_answer(received, verdict)
            return verdict
        except Wrong as wrong:
            if wrong.mistake != "wrong-answer":
                raise Wrong(
                    "wrong-type", f"The result is {describe(received)} where True or False is expected."
                ) from None
    raise Wrong("wrong-type", f"The result is {describe(received)} where True or False is expected.")


def _judge(verdicts: list[bool], images: torch.Tensor) -> None:
    if verdicts == [kind.right for kind in KINDS]:
        return
    exact, rounded, by_batch, shifted, neighbour, last, first = verdicts
    wrong = next(index for index, kind in enumerate(KINDS) if verdicts[index] != kind.right)
    details = [
        f"Input:    a model of type {KINDS[wrong].__name__}, {describe(images)}",
        f"Expected: {KINDS[wrong].right}",
        f"Received: {verdicts[wrong]}",
    ]
    right_so_far = exact and rounded
    known = (
        (all(verdicts), "accepts-everything", "Every model passes, also those that mix the images of a batch."),
        (not any(verdicts), "refuses-everything", "No model passes, not even one that never mixes two images."),
        (
            not exact and not rounded and all(verdicts[2:]),
            "verdict-inverted",
            "The two verdicts have changed places: True is said of the models that mix images.",
        ),
        (
            exact and not any(verdicts[1:]),
            "rounding-refused",
            "A right model is refused: its logits alone and in the batch differ in their last digit.",
        ),
        (
            right_so_far and by_batch and shifted and not (last and first),
            "order-only",
            "The same images in another order are all that is tried: "
            "a model passes that looks at all of them alike.",
        ),
        (
            right_so_far and shifted and not (by_batch or neighbour or (last and first)),
            "classes-only",
            "A model passes whose logits change with the batch while the winning class stays.",
        ),
        (
            right_so_far and not (by_batch or shifted) and (last or first),
            "one-image-untested",
            "At least one image of the batch is never tested: a model passes in which only this one sees the others.",
        ),
    )  # fmt: skip
    for found, slug, sentence in known:
        if found:
            raise Wrong(slug, sentence, details)
    raise Wrong("wrong-behaviour", "The verdict on one of the models is not right.", details)


@exercise("A whole model, mended", difficulty=3, minutes=15)
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
