"""Checks whether a module is a Vision Transformer by its output with known weights, and names the mistake if not."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from vit_course.checks.capstone.pre_norm_block import block, block_mistakes, gelu, inside, tanh_gelu
from vit_course.checks.tools import rows_of_blocks
from vit_course.checks.tools.mistakes import Mistake, map_functions
from vit_course.checks.tools.put_weights import random_weights, same_module
from vit_course.config import ViTConfig
from vit_course.encoder import NORM_EPSILON
from vit_course.vit import ViT


def right_model(
    build: Callable[[ViTConfig], nn.Module],
    named: Callable[[str], str],
    draw,
    axes: str,
    bugs: Sequence[Mistake] = (),
) -> None:
    """Raises `Wrong` unless the learner's class makes a Vision Transformer of any sizes.

    Args:
        build: builds the learner's module of these sizes.
        named: the name that the stub fixes for a parameter of our `ViT`.
        draw: of the check.
        axes: of the output, as the exercise calls them.
        bugs: of the version that the exercise shows, as `bugs_left` makes them.
    """
    for layers, heads, batch in ((3, 2, 3), (2, 3, 2)):
        config = drawn_config(layers, heads, draw)
        module, weights = build(config), random_weights(ViT(config), draw)
        known = {"weights": weights, "config": config}
        references = [partial(model, **known, block=partial(block, mlp=form)) for form in (gelu, tanh_gelu)]
        mistakes = map_functions([*bugs, *model_mistakes()], lambda wrong, known=known: partial(wrong, **known), model)
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
    pixels: Callable = lambda images: images,
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

    def norm(z):
        return F.layer_norm(z, z.shape[-1:], weights["encoder.norm.weight"], weights["encoder.norm.bias"], NORM_EPSILON)

    return end(read(around(z, blocks, norm)), lambda y: F.linear(y, weights["head.weight"], weights["head.bias"]))


def model_mistakes() -> list[Mistake]:
    """Wrong forms of `model`: in its own steps, in the row of blocks, and inside the blocks."""
    rows = map_functions(rows_of_blocks.MISTAKES, lambda wrong: partial(model, around=wrong), rows_of_blocks.run)
    blocks = [Mistake(one.slug, _inside(one.sentence), *one.forms) for one in block_mistakes()]
    return [*MISTAKES, *rows, *map_functions(blocks, lambda wrong: partial(model, block=wrong), block)]


def _inside(sentence: str) -> str:
    return f"Inside the blocks: {sentence[0].lower()}{sentence[1:]}"


def _spread(images: torch.Tensor, axes: tuple[int, ...]) -> torch.Tensor:
    return (images - images.mean(axes, keepdim=True)) / images.std(axes, keepdim=True)


MISTAKES = [
    Mistake(
        "softmax-in-model",
        "A softmax follows the head, and the loss would apply it a second time.",
        {"end": lambda y, head: head(y).softmax(-1)},
    ),
    Mistake("last-token-read", "The head reads the last token.", {"read": lambda z: z[:, -1]}),
    Mistake(
        "mean-read",
        "The head reads a mean of tokens.",
        {"read": lambda z: z.mean(1)},
        {"read": lambda z: z[:, 1:].mean(1)},
    ),
    Mistake(  # would mislead: a causal attention gives the same logits
        "image-not-seen",
        "The class token sees no patch of its image, as where the axes of images and tokens are swapped.",
        {"around": lambda z, blocks, norm: rows_of_blocks.run(z.transpose(0, 1), blocks, norm).transpose(0, 1)},
    ),
    Mistake(
        "class-token-without-position",
        "The class token gets no position: it is put in front after the positions are added to the patches.",
        {"tokens": lambda x, token, table: _joined(x + table[:, 1:], token)},
    ),
    Mistake("no-positions", "The positions are not used.", {"tokens": lambda x, token, table: _joined(x, token)}),
    Mistake(
        "class-token-last",
        "The class token comes after the patches.",
        {"tokens": lambda x, token, table: _joined(x, token).roll(-1, 1) + table},
    ),
    Mistake(  # taught: images are normalised with fixed numbers, and this is how 6.3 is half repaired
        "brightness-lost",
        "Each image is normalised separately, so brightness is lost.",
        {"pixels": lambda images: _spread(images, (2, 3))},
        {"pixels": lambda images: _spread(images, (1, 2, 3))},
    ),
    Mistake(
        "patches-mixed",
        "The patches are in another order: column by column.",
        {"cut": lambda grid: grid.mT.flatten(2).mT},
    ),
    Mistake(
        "patches-mixed",
        "A reshape mixes the numbers of different patches.",
        {"cut": lambda grid: grid.reshape(len(grid), -1, grid.shape[1])},
        {"cut": lambda grid: _in_rows(grid).mT.reshape(_in_rows(grid).shape)},
    ),
]
