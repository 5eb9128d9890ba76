"""Checks whether a module is a Vision Transformer by its output with known weights, and names the mistake if not."""

from collections.abc import Callable, Mapping
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.capstone.pre_norm_block import block, block_mistakes, gelu, inside, tanh_gelu
from vit_course.checks.tools import rows_of_blocks
from vit_course.checks.tools.mistakes import Mistake, Slip, wrong_functions
from vit_course.checks.tools.put_weights import random_weights, same_module
from vit_course.config import ViTConfig
from vit_course.encoder import NORM_EPSILON
from vit_course.vit import ViT


def right_model(
    build: Callable[[ViTConfig], nn.Module],
    named: Callable[[str], str],
    draw,
    axes: str,
) -> None:
    """Raises `Wrong` unless the learner's class makes a Vision Transformer of any sizes.

    Args:
        build: builds the learner's module of these sizes.
        named: the name that the stub fixes for a parameter of our `ViT`.
        draw: of the check.
        axes: of the output, as the exercise calls them.
    """
    for layers, heads, batch in ((3, 2, 3), (2, 3, 2)):
        config = drawn_config(layers, heads, draw)
        module, weights = build(config), random_weights(ViT(config), draw)
        known = {"weights": weights, "config": config}
        references = [partial(model, **known, block=partial(block, mlp=form)) for form in (gelu, tanh_gelu)]
        mistakes = [Mistake(one.slug, one.sentence, partial(one.function, **known)) for one in model_mistakes()]
        inputs = [draw.normal(number, config.in_channels, *config.height_width) for number in (batch, batch + 2)]
        by_name = {named(name): value for name, value in weights.items()}
        same_module(module, by_name, references, inputs, mistakes, axes, draw, through=False)


def drawn_config(layers: int, heads: int, draw) -> ViTConfig:
    """A model of images that are not square; no two sizes are alike."""
    rows, columns = draw.choose([(2, 3), (3, 2)])
    patch, channels = draw.choose([(2, 3), (3, 1), (2, 5)])
    width = heads * draw.choose([4, 5, 7])
    return ViTConfig(
        image_size=(rows * patch, columns * patch), patch_size=patch, in_channels=channels, num_classes=width + 1,
        hidden_dim=width, num_layers=layers, num_heads=heads, mlp_dim=2 * width + 3,
    )  # fmt: skip


def _same(x: torch.Tensor) -> torch.Tensor:
    return x


def _in_rows(grid: torch.Tensor) -> torch.Tensor:
    return grid.flatten(2).mT


def _tokens(x: torch.Tensor, token: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return _joined(x, token) + table


def _joined(x: torch.Tensor, token: torch.Tensor) -> torch.Tensor:
    return torch.cat([token.expand(len(x), -1, -1), x], dim=1)


def model(
    images: torch.Tensor,
    weights: Mapping[str, torch.Tensor],
    config: ViTConfig,
    pixels: Callable = _same,
    cut: Callable = _in_rows,
    tokens: Callable = _tokens,
    around: Callable = rows_of_blocks.run,
    block: Callable = block,
    read: Callable = lambda z: z[:, 0],
    end: Callable = lambda y, head: head(y),
) -> torch.Tensor:
    """The right logits, and with one of the steps replaced wrong ones.

    Args:
        images: (B, C, H, W).
        weights: by the names of a `ViT`.
        config: its sizes.
        pixels: what becomes of the images first.
        cut: (B, D, rows, columns) -> (B, N, D).
        tokens: of patches, class token and table of positions.
        around: of tokens, blocks and last norm.
        block: as `block`.
        read: of all tokens.
        end: of what was read and the head.
    """
    projection = [weights[f"patch_embedding.projection.{kind}"] for kind in ("weight", "bias")]
    x = cut(F.conv2d(pixels(images), *projection, stride=config.patch_size))
    z = tokens(x, weights["class_token.token"], weights["positions.table"])
    blocks = [
        partial(block, weights=inside(weights, f"encoder.blocks.{number}."), heads=config.num_heads)
        for number in range(config.num_layers)
    ]

    def norm(z, eps=NORM_EPSILON):
        return F.layer_norm(z, z.shape[-1:], weights["encoder.norm.weight"], weights["encoder.norm.bias"], eps)

    return end(read(around(z, blocks, norm)), lambda y: F.linear(y, weights["head.weight"], weights["head.bias"]))


def model_mistakes() -> list[Mistake]:
    """Wrong functions of images, weights and config: wrong models, rows of blocks, and blocks."""
    rows = [Mistake(one.slug, one.sentence, partial(model, around=one.function)) for one in rows_of_blocks.slips()]
    blocks = [Mistake(one.slug, _inside(one.sentence), partial(model, block=one.function)) for one in block_mistakes()]
    return [*wrong_functions(MISTAKES, model, pairs=3), *rows, *blocks]


def _inside(sentence: str) -> str:
    return f"Inside the blocks: {sentence[0].lower()}{sentence[1:]}"


def _positions_behind(images, weights, config):
    def around(z, blocks, norm):
        return rows_of_blocks.run(z, blocks, norm) + weights["positions.table"]

    return model(images, weights, config, tokens=lambda x, token, table: _joined(x, token), around=around)


def _positions_in_each_block(images, weights, config, tokens=_tokens):
    def positioned(x, **sizes):
        return block(x + weights["positions.table"], **sizes)

    return model(images, weights, config, tokens=tokens, block=positioned)


def _spread(images: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    return (images - images.mean(axes, keepdim=True)) / images.std(axes, keepdim=True)


MISTAKES = {
    "end": [
        Slip(
            "softmax-in-model",
            "A softmax follows the head, and the loss would apply it a second time.",
            lambda y, head: head(y).softmax(-1),
        ),
        Slip(
            "log-softmax-in-model",
            "These are logarithms of probabilities: the head is not the last step.",
            lambda y, head: head(y).log_softmax(-1),
        ),
        Slip(
            "function-behind-head",
            "A function acts on the logits: the head is not the last step.",
            lambda y, head: head(y).relu(),
            lambda y, head: F.gelu(head(y)),
            lambda y, head: head(y).tanh(),
            lambda y, head: head(y).sigmoid(),
        ),
        Slip(
            "function-before-head",
            "There is a function between the last norm and the head.",
            lambda y, head: head(y.tanh()),
            lambda y, head: head(y.relu()),
            lambda y, head: head(F.gelu(y)),
            lambda y, head: head(y.sigmoid()),
        ),
        Slip("no-head", "What the head reads is returned: the head does not act.", lambda y, head: y),
    ],
    "read": [
        Slip("last-token-read", "The head reads the last token.", lambda z: z[:, -1]),
        Slip("mean-read", "The head reads a mean of tokens.", lambda z: z.mean(1), lambda z: z[:, 1:].mean(1)),
        Slip("patch-read", "The head reads the token of a patch.", lambda z: z[:, 1]),
        Slip("tokens-added-up", "The head reads the sum of all tokens.", lambda z: z.sum(1)),
        Slip("every-token-read", "There are logits for every token, not for every image.", lambda z: z),
        Slip("one-image-read", "There are logits for every token of one image.", lambda z: z[0]),
        Slip("axis-too-many", "The axis of tokens is still there, with length 1.", lambda z: z[:, :1]),
    ],
    "around": [
        Slip("no-last-norm", "No norm follows the last block.", partial(rows_of_blocks.run, norms=(0, 0, 0, 0))),
        Slip(
            "image-not-seen",
            "The class token sees no patch of its image, as where the axes of images and tokens are swapped.",
            lambda z, blocks, norm: rows_of_blocks.run(z.transpose(0, 1), blocks, norm).transpose(0, 1),
        ),
        Slip(
            "patch-not-seen",
            "The blocks do not get the last token.",
            lambda z, blocks, norm: rows_of_blocks.run(z[:, :-1], blocks, norm),
        ),
    ],
    "tokens": [
        Slip(
            "class-token-without-position",
            "The class token gets no position: it is put in front after the positions are added to the patches.",
            lambda x, token, table: _joined(x + table[:, 1:], token),
        ),
        Slip("no-positions", "The positions are not used.", lambda x, token, table: _joined(x, token)),
        Slip(
            "no-positions",
            "Every token gets the same row of the table.",
            lambda x, token, table: _joined(x, token) + table[:, :1],
        ),
        Slip(
            "class-token-last",
            "The class token comes after the patches.",
            lambda x, token, table: _joined(x, token).roll(-1, 1) + table,
        ),
        Slip(
            "positions-twice",
            "The positions are added twice.",
            lambda x, token, table: _joined(x, token) + 2 * table,
        ),
        Slip(
            "positions-multiplied",
            "The tokens are multiplied by their positions.",
            lambda x, token, table: _joined(x, token) * table,
        ),
    ],
    "pixels": [
        Slip(
            "brightness-lost",
            "Each image is normalised separately, so brightness is lost.",
            lambda images: images - images.mean((2, 3), keepdim=True),
            lambda images: images - images.mean((1, 2, 3), keepdim=True),
            lambda images: _spread(images, (2, 3)),
            lambda images: _spread(images, (1, 2, 3)),
        ),
        Slip("pixels-scaled", "The pixels are divided by 255, but they are normalised.", lambda images: images / 255),
        Slip(
            "patches-mixed", "The images are mirrored.", lambda images: images.flip(-1), lambda images: images.flip(-2)
        ),
    ],
    "cut": [
        Slip(
            "patches-mixed",
            "The patches are in another order: column by column.",
            lambda grid: grid.mT.flatten(2).mT,
        ),
        Slip(
            "patches-mixed",
            "A reshape mixes the numbers of different patches.",
            lambda grid: grid.reshape(len(grid), -1, grid.shape[1]),
            lambda grid: _in_rows(grid).mT.reshape(_in_rows(grid).shape),
        ),
        Slip(
            "function-behind-patches",
            "A function acts on the patch tokens.",
            lambda grid: _in_rows(grid).relu(),
            lambda grid: F.gelu(_in_rows(grid)),
        ),
    ],
    "result": [
        Slip(
            "three-faults",
            "Three things are wrong. No norm follows the last block. The head reads the last token. A softmax follows.",
            partial(
                model,
                around=partial(rows_of_blocks.run, norms=rows_of_blocks.NO_NORM),
                read=lambda z: z[:, -1],
                end=lambda y, head: head(y).softmax(-1),
            ),
        ),
        Slip("positions-behind-blocks", "The positions are added after the blocks.", _positions_behind),
        Slip(
            "positions-in-every-block",
            "The positions are added before every block.",
            _positions_in_each_block,
            partial(_positions_in_each_block, tokens=lambda x, token, table: _joined(x, token)),
        ),
    ],
}
