"""The output of each part of a model: ours, or torchvision's, timm's, Hugging Face's and vit-pytorch's."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from vit_course._support.inputs.tensors import check_axes, check_finite, check_module, need_finite
from vit_course.maps.recording import record_attention
from vit_course.pretrained.libraries import ParameterNames, names_of
from vit_course.vit import ViT

# A function from a module, its inputs and its output to the value that is kept. Any: outputs differ between modules.
Pick = Callable[[nn.Module, tuple, Any], torch.Tensor | None]
# The stages whose values are (B, width), one row a picture.
OF_THE_HEAD = ("pre-logits", "into the head", "logits")


def stages(model: nn.Module, images: torch.Tensor) -> dict[str, torch.Tensor]:
    """The output of each part of the model for these images, in running order: name of the stage -> tensor.

    Tokens are (B, T, D), attention weights (B, h, T, T), logits (B, num_classes). Stages that a
    library's model does not expose are left out. LayerScale counts as a part of the layer before it, as in ours. The
    model runs in its present mode, so put it in eval mode first; MAE runs without its masks, and of a model of images
    and text only the image tower runs.

    Args:
        model: a ViT of ours, torchvision's, timm's, Hugging Face's or vit-pytorch's.
        images: (B, C, H, W).

    Raises:
        TypeError: not a module, or not a tensor.
        ValueError: the model has no parts with known names, cannot take the images, or gives NaN or infinity; the
            first stage that does is named.
    """
    return {stage: need_finite(stage, value) for stage, value in any_stages(model, images).items()}


def any_stages(model: nn.Module, images: torch.Tensor) -> dict[str, torch.Tensor]:
    """As `stages`, but NaN and infinity are allowed: a comparison names the first stage that differs."""
    library = known_library(model)
    check_images(images)
    depth = library.depth(model.state_dict())
    modules, order, hooks = dict(model.named_modules()), [], []
    seen: dict[str, torch.Tensor] = {}
    for stage, layer, part, pick in _taps(depth):
        order.append(stage)
        module = _find(library, modules, layer, part, pick)
        if module is not None and pick is not None:
            hooks.append(module.register_forward_hook(partial(_keep, seen, stage, pick)))
    try:
        with torch.no_grad(), record_attention(model) as maps:
            _run(model, images)
    except (AssertionError, RuntimeError, ValueError) as error:
        raise ValueError(f"the {library.name} model cannot take images {tuple(images.shape)}: {error}") from error
    finally:
        for hook in hooks:
            hook.remove()
    if len(maps.by_layer) == depth:
        seen.update({f"block {number}: attention": layer[0] for number, layer in enumerate(maps.by_layer)})
    return {stage: seen[stage] for stage in order if stage in seen}


def _taps(depth: int) -> Iterator[tuple[str, str, int, Pick | None]]:
    # Yields a stage, our layer, its part (0 to 2 for query, key, value), and the function that picks the kept value.
    yield "norm of the patches", "patch_embedding.norm1", 0, _out
    yield "patch embedding", "patch_embedding.projection", 0, _out
    yield "norm of the patch embedding", "patch_embedding.norm2", 0, _out
    yield "norm before the blocks", "pre_norm", 0, _out
    yield "class token and positions", "encoder.blocks.0.norm1", 0, _into
    for number in range(depth):
        block, name = f"encoder.blocks.{number}.", f"block {number}: "
        yield name + "norm 1", block + "norm1", 0, _out
        for part, what in enumerate(("queries", "keys", "values")):
            yield name + what, block + "attention.qkv", part, partial(_projected, part)
        yield name + "attention", "", 0, None  # the weights; no module gives them
        yield name + "heads side by side", block + "attention.projection", 0, _into
        yield name + "attention output", block + "attention.projection", 0, _out
        yield name + "after attention", block + "norm2", 0, _into
        yield name + "norm 2", block + "norm2", 0, _out
        yield name + "MLP, hidden (before GELU)", block + "mlp.expand", 0, _out
        yield name + "MLP, after GELU", block + "mlp.contract", 0, _into
        yield name + "MLP output", block + "mlp.contract", 0, _out
        following = f"encoder.blocks.{number + 1}.norm1" if number + 1 < depth else "encoder.norm"
        yield name + "after MLP", following, 0, _into
    yield "norm", "encoder.norm", 0, _out
    yield "pre-logits", "pre_logits.0", 0, _out
    yield "into the head", "head", 0, _into
    yield "logits", "head", 0, _out


def _keep(seen: dict[str, torch.Tensor], stage: str, pick: Pick, module: nn.Module, inputs: tuple, output: Any) -> None:
    value = pick(module, inputs, output)
    # CLIP applies a norm to its class token alone, ours to all tokens: such stages are left out.
    if value is not None and (value.ndim > 2 or stage in OF_THE_HEAD):
        # Keeps the first value: the recorder may run a layer again, to check what its map is over.
        seen.setdefault(
            stage, value.flatten(2).transpose(1, 2) if stage == "patch embedding" and value.ndim == 4 else value
        )


def _into(module: nn.Module, inputs: tuple, output: Any) -> torch.Tensor | None:
    # torchvision's attention uses its projection without calling it, so that its input is not seen.
    return None if isinstance(module, nn.MultiheadAttention) else inputs[0]


def _out(module: nn.Module, inputs: tuple, output: Any) -> torch.Tensor:
    return output[0] if isinstance(output, tuple) else output


def _projected(part: int, module: nn.Module, inputs: tuple, output: Any) -> torch.Tensor:
    if isinstance(module, nn.MultiheadAttention):
        bias = module.in_proj_bias
        return F.linear(inputs[0], module.in_proj_weight.chunk(3)[part], None if bias is None else bias.chunk(3)[part])
    fused = output.shape[-1] == 3 * inputs[0].shape[-1]
    return output.chunk(3, dim=-1)[part] if fused else output


def _run(model: nn.Module, images: torch.Tensor) -> None:
    # Without a head, runs only up to the tokens; MAE is run without masking.
    if isinstance(model, ViT) and not model.config.num_classes:
        model.features(images)
        return
    model = getattr(model, "vision_model", model) if hasattr(model, "text_model") else model
    config = getattr(model, "config", None)
    if config is None or not hasattr(config, "mask_ratio"):
        model(images)
        return
    model, share = getattr(model, "vit", model), config.mask_ratio
    config.mask_ratio = 0.0
    try:
        patches = (images.shape[2] // config.patch_size) * (images.shape[3] // config.patch_size)
        model(images, noise=torch.arange(patches).to(images).expand(len(images), -1))  # rising noise keeps the order
    finally:
        config.mask_ratio = share


def _find(
    library: ParameterNames, modules: dict[str, nn.Module], layer: str, part: int, pick: Pick | None
) -> nn.Module | None:
    if layer == "head" and library.two_heads is not None and library.two_heads[1].removesuffix(".{}") in modules:
        return None  # a distilled model has two heads, and their mean is ours
    start, _, rest = layer.partition(".blocks.")
    number, _, inner = rest.partition(".")
    if start == "encoder" and inner in library.scales and pick is _out:  # LayerScale is folded into our layer
        scale = modules.get(library.block.format(number) + library.scales[inner].rpartition(".")[0])
        if scale is not None and not isinstance(scale, nn.Identity):
            return scale
    try:
        keys = library.keys(f"{layer}.weight")
    except KeyError:
        return None
    name = keys[part if len(keys) > 1 else 0].removesuffix(".weight")
    around = modules.get(name.rpartition(".")[0])
    found = around if isinstance(around, nn.MultiheadAttention) else modules.get(name)
    stands_for_nothing = isinstance(found, nn.Identity) and (layer != "encoder.norm" or pick is not _into)
    return None if stands_for_nothing else found


def check_images(images: torch.Tensor) -> None:
    """Raises an error if these are not images (B, C, H, W) of finite floats, as a model takes them."""
    check_axes("images", images, "(B, C, H, W)")
    if 0 in images.shape:
        raise ValueError(f"images must not be empty, got shape {tuple(images.shape)}")
    if not images.is_floating_point():
        raise ValueError(f"images are {str(images.dtype).removeprefix('torch.')}: normalise them first")
    check_finite("images", images)


def known_library(model: nn.Module) -> ParameterNames:
    """Returns the library whose names the parameters of a model have; raises a `ValueError` if there is none."""
    check_module("model", model)
    library = names_of(model.state_dict())
    if library is None:
        raise ValueError(
            f"the parts of this {type(model).__name__} have no known names: give a ViT of ours, torchvision's, "
            "timm's, Hugging Face's or vit-pytorch's"
        )
    return library
