"""The attention explorer on a model: anybody's ViT, an image, one line; or a button for the image."""

import warnings
from collections.abc import Callable, Sequence
from typing import BinaryIO

import torch
from torch import nn

from vit_course.explorer.arguments import need_callable, need_grid, need_module
from vit_course.explorer.prepared import Unnormalised, input_size, prepare, way_of, way_of_model
from vit_course.explorer.upload import PictureUpload
from vit_course.explorer.widget import AttentionExplorer
from vit_course.maps.recording import record_attention
from vit_course.maps.tokens import Tokens, need_prefix
from vit_course.pretrained.hub import Pretrained
from vit_course.vit import ViT


def explore(
    model: nn.Module | Pretrained,
    image,
    preprocess: Callable | None = None,
    grid: tuple[int, int] | None = None,
    prefix: int | Sequence[str] | None = None,
    **state,
) -> AttentionExplorer:
    """Runs the model on one image and returns an `AttentionExplorer` of its maps.

    What `preprocess` is given depends on its kind. One that is made for pictures gets the picture, upright and in RGB,
    whatever its size: the `preprocess` of `pretrained.from_pretrained` and `load_run`, a transform of torchvision's or
    timm's, an entry of torchvision's weights, a processor of Hugging Face's. Any other function, such as
    `dataset.normalise`, gets a batch (1, C, H, W) in the model's size, of bytes for a picture, and of the given type
    for a tensor. By default a picture, or a tensor of bytes, goes the way that a timm model's `pretrained_cfg` says,
    or the processor that lies beside the weights of a Hugging Face model; floats go in as they are. What is shown is
    what the model sees.

    Args:
        model: ours, or a ViT of torchvision, timm or Hugging Face, or any other whose attention `record_attention`
            can see; or a `Pretrained`, whose preprocess is taken.
        image: a tensor (C, H, W) or (1, C, H, W), bytes or floats; or a picture: a path, the bytes of a file, the file
            object, or an image of Pillow's. Of another size than the model takes, a tensor is stretched to it, and a
            picture, once upright, resized to cover it and cropped at the centre, where `preprocess` does neither.
        preprocess: from the picture or the batch to what the model takes.
        grid: (rows, columns) of patches; by default what the model says, else the grid of square patches that fits.
        prefix: the names of the tokens before the patches, or how many there are; by default what the model says.
        state: of the `AttentionExplorer`, such as `layer=3`.

    Raises:
        TypeError: a model that is no module, or a state of another name.
        ValueError: an image that cannot be used, a model whose attention cannot be seen or placed, or of a library
            and without a word on its preprocessing; a `preprocess` that does not give one image; or a grid, a prefix
            or a state that does not fit.
    """
    model, preprocess = _parts(model, preprocess)
    need_grid(grid)
    need_prefix(prefix)
    prepared = prepare(model, image, preprocess)
    maps, tokens = _attention_of(model, prepared.given, grid, prefix)
    return AttentionExplorer(maps, prepared.shown, grid=tokens.grid, prefix=tokens.prefix, **state)


def _parts(model, preprocess) -> tuple[nn.Module, Callable | None]:
    if isinstance(model, Pretrained):
        model, preprocess = model.model, model.preprocess if preprocess is None else preprocess
    need_module(model)
    if way_of(preprocess) is None:
        need_callable("preprocess", preprocess)
    return model, preprocess


def _attention_of(model: nn.Module, images: torch.Tensor, grid, prefix) -> tuple[tuple | torch.Tensor, Tokens]:
    """(1, C, H, W) -> queries and keys (L, h, T, d) or maps (L, h, T, T), and what the T tokens are"""
    first = next(model.parameters(), images)
    was_training = {module: module.training for module in model.modules()}
    # Without a head there are no logits, and none are needed.
    call = model.features if isinstance(model, ViT) and not model.config.num_classes else model
    model.eval()
    try:
        with torch.no_grad(), record_attention(model) as recorded:
            call(images.to(first.device, first.dtype))
    except Exception as error:  # whatever somebody's model raises
        if isinstance(model, ViT) and isinstance(error, ValueError):  # ours says itself what it takes
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        hint = "; it has several parts, explore model.vision_model" if hasattr(model, "vision_model") else ""
        raise ValueError(f"the model cannot take images of shape {tuple(images.shape)}: {reason}{hint}") from error
    finally:
        for module, mode in was_training.items():
            module.training = mode
    tokens = recorded.tokens(grid, prefix)
    try:
        q, k = recorded.queries_and_keys()
    except ValueError:  # only weights were seen
        return recorded.stacked(), tokens
    return (q, k), tokens


def upload(
    model: nn.Module | Pretrained,
    preprocess: Callable | None = None,
    grid: tuple[int, int] | None = None,
    prefix: int | Sequence[str] | None = None,
    **state,
) -> PictureUpload:
    """Shows a button for a picture of your own, and below it the `AttentionExplorer` of each picture that is chosen.

    Args:
        model, preprocess, grid, prefix, state: as `explore` takes them.

    Returns:
        The button; its `explorer` is the one of the last picture, or None.

    Raises:
        TypeError: a model that is no module.
        ValueError: a model that says neither how it wants a picture nor of what size, or a `preprocess`, a grid or a
            prefix that is none.
    """
    model, preprocess = _parts(model, preprocess)
    need_grid(grid)
    need_prefix(prefix)
    size = input_size(model)
    way = way_of_model(model) if preprocess is None else way_of(preprocess)
    if way is None and size is None:
        raise ValueError(
            "upload cannot see what size of image the model takes: resize the picture yourself and call explore"
        )

    def show(file: BinaryIO) -> AttentionExplorer:
        with warnings.catch_warnings(action="ignore", category=Unnormalised):  # the words below the button say it
            return explore(model, file, preprocess if way is None else way, grid, prefix, **state)

    treatment = "upright and as its preprocessing crops it"
    if way is None:
        treatment = f"upright and cropped at its centre, at {size[0]} x {size[1]} pixels"
        treatment += ", not normalised" * (preprocess is None)
    return PictureUpload(show, treatment)
