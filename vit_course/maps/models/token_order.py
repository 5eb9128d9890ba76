"""Tests a model's token order on a copy: changes the pixels of patches, and sees which tokens change."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import nn

from vit_course.maps.models.description import Description, own_attribute
from vit_course.maps.models.module_paths import few
from vit_course.maps.models.patch_geometry import PatchGeometry
from vit_course.maps.models.tokens import Tokens, find_tokens
from vit_course.maps.run_model import UNCOMPILED

STRENGTH = 4.0  # of a change, in standard deviations of the random images
# What stands for a token's patch if no pixel changes the token, and if those of several patches do, as behind a stem of
# overlapping convolutions.
NOTHING, SEVERAL = -1, -2
DRAWN = "Maps can be drawn only where all other tokens come first, and then the patches row by row"


class Order(NamedTuple):
    """What a probe found: for each token its patch, counted row by row, `NOTHING` or `SEVERAL`.

    `beyond` has the tokens that changed with pixels that no patch is said to see. `own` says whether each of the last
    tokens, one for each patch, changed with its own patch, whatever else it changed with.
    """

    patches: tuple[int, ...]
    beyond: tuple[int, ...]
    own: bool


class _Arrived(Exception):
    """Ends a forward pass once the tokens have reached the first attention layer."""


def find_tested_tokens(
    model: nn.Module,
    description: Description | None,
    first: str,
    num_tokens: int,
    images: torch.Size | None,
    grid: tuple[int, int] | None = None,
    prefix: int | Sequence[str] | None = None,
) -> Tokens:
    """As `find_tokens`, tested on a copy of the model if nothing but the user's word describes it.

    A token must change with the pixels of its patch and of no other, and not with pixels that no patch sees.

    Args:
        model, description: the description is None if the model has none.
        first: the path of the first attention layer.
        images: the shape (B, C, H, W) of images that the model was given; None if it is not known.
        num_tokens, grid, prefix: as in `find_tokens`.

    Raises:
        ValueError: as `find_tokens`, or a token that shows another patch or none, or patches that lie elsewhere.
    """
    image_size = None if images is None else (images[2], images[3])
    found = find_tokens(description, num_tokens, image_size, grid, prefix)
    if description is not None and description.family.is_tested and grid is None and prefix is None:
        return replace(found, tested=True)
    if images is None or found.geometry is None:
        return found
    order = probe_order(model, first, images[1], found.geometry)
    if order is None or len(order.patches) != num_tokens:  # it could not be tested
        return _without_pixels(found)
    name = type(model).__name__
    _check_order(order, name, found)
    placed = _tested_place(order, model, first, images[1], found)
    return replace(placed, tested=SEVERAL not in order.patches[found.num_prefix :])


def probe_order(
    model: nn.Module, first: str, channels: int, geometry: PatchGeometry, corners: tuple[int, ...] = (0, 1)
) -> Order | None:
    """Which patch each token shows, found on a copy of the model.

    About 2 log2(N) random images run as far as the first attention layer. The N patches are numbered in binary, and for
    each binary digit there are two images: in one, the patches with this digit change; in the other, those without it.
    A token that shows one patch changes in exactly one of the two. In one more image, only the pixels that no patch
    covers change.

    Args:
        model, first: the model, and the path of its first attention layer.
        channels: of its images.
        geometry: where the patches are said to lie.
        corners: which pixels of a patch change, if it is known to cover just its cell: 0 for that at its top left, 1
            for that at its bottom right. So even a grid that is off by one pixel is detected. Of other
            patches, the middle changes.

    Returns:
        None if the model cannot be copied or run in this way, for example because it takes other arguments.
    """
    return _probed(model, first, channels, geometry, corners if geometry.fills_cells else ())


@torch.no_grad()
def _probed(
    model: nn.Module, first: str, channels: int, geometry: PatchGeometry, corners: tuple[int, ...]
) -> Order | None:
    count = geometry.grid[0] * geometry.grid[1]
    numbers = torch.arange(count)
    digits = [(numbers >> place) & 1 == 1 for place in range(max(1, (count - 1).bit_length()))]  # (N,) each
    chosen = torch.stack([each for digit in digits for each in (digit, ~digit)])  # (2 bits, N)
    owner = _owners(geometry, corners)  # (H, W)
    changed = torch.cat([chosen[:, owner.clamp_min(0)] & (owner >= 0), geometry.unseen()[None]])  # (2 bits + 1, H, W)
    generator = torch.Generator().manual_seed(0)
    image = torch.randn(1, channels, *geometry.image_size, generator=generator)
    images = torch.cat([image, image + STRENGTH * changed[:, None]])  # (2 bits + 2, C, H, W)
    like = next(model.parameters(), image)
    # The last image is the first one again, whose tokens are the same unless the model draws random numbers.
    tokens = _tokens_of(model, first, torch.cat([images, images[:1]]).to(like.device, like.dtype))
    if tokens is None or not torch.allclose(tokens[-1], tokens[0], rtol=1e-3, atol=1e-3):
        return None
    tokens = tokens[:-1].float()
    distance = (tokens[1:] - tokens[:1]).abs().amax(dim=2)  # (2 bits + 1, T)
    differs = distance > 1e-3 * distance[:-1].max()
    pairs = differs[:-1].unflatten(0, (-1, 2))  # (bits, 2, T)
    found = sum(pairs[place, 0].long() << place for place in range(len(digits)))  # (T,)
    one = (pairs.sum(dim=1) == 1).all(dim=0) & (found < count)
    none = ~pairs.any(dim=0).any(dim=0)
    patches = torch.where(none, NOTHING, torch.where(one, found, SEVERAL))
    enough = pairs.shape[2] >= count
    own = enough and bool(torch.where(torch.stack(digits), *pairs[:, :, -count:].unbind(1)).all())
    return Order(tuple(patches.tolist()), tuple(differs[-1].nonzero().flatten().tolist()), own)


def _owners(geometry: PatchGeometry, corners: tuple[int, ...]) -> torch.Tensor:
    # -> (H, W): the patch with which a pixel is to change, or -1.
    owner = torch.full(geometry.image_size, -1)
    numbers = torch.arange(geometry.grid[0] * geometry.grid[1]).view(geometry.grid)
    rows, columns = (torch.tensor(geometry.cells(axis)) for axis in (0, 1))  # (rows, 2), (columns, 2)
    middle = [(each.sum(dim=1) + 1) // 2 for each in (rows, columns)]
    for row, column in [(rows[:, corner], columns[:, corner]) for corner in corners] or [middle]:
        owner[row[:, None], column] = numbers
    return owner


def _tokens_of(model: nn.Module, first: str, images: torch.Tensor) -> torch.Tensor | None:
    # (B, C, H, W) -> (B, T, D): what the first attention layer of a copy of the model is given.
    arrived: list[torch.Tensor] = []

    def arrive(_: nn.Module, args: tuple, kwargs: dict) -> None:
        arrived.extend(x.detach() for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor))
        raise _Arrived

    cuda_devices = {parameter.device for parameter in model.parameters() if parameter.device.type == "cuda"}
    try:
        # Neither recordings nor interventions see the copy, and no random number of the caller's is used up.
        with torch.random.fork_rng(devices=list(cuda_devices)), UNCOMPILED, torch._C.DisableTorchFunction():
            copied = copy.deepcopy(model, _detached(model)).eval()
            for module in copied.modules():
                for hooks in ("_forward_hooks", "_forward_pre_hooks"):
                    (own_attribute(module, hooks) or {}).clear()
            copied.get_submodule(first).register_forward_pre_hook(arrive, with_kwargs=True)
            copied(images)
    except _Arrived:
        pass
    except Exception:  # somebody else's model may raise anything, and then nothing is known
        return None
    if not arrived or arrived[0].ndim != 3:
        return None
    tokens, count = arrived[0], len(images)
    if len(tokens) != count:
        return tokens.transpose(0, 1) if tokens.shape[1] == count else None  # (T, B, D)
    # As many tokens as images may stand in either order: the last image is the first one again.
    turned = tokens.shape[1] == count and not torch.allclose(tokens[-1], tokens[0], rtol=1e-3, atol=1e-3)
    return tokens.transpose(0, 1) if turned else tokens


def _detached(model: nn.Module) -> dict[int, torch.Tensor]:
    # What stands in a copy for the tensors that modules have kept with their graph, which cannot be copied.
    kept = (value for module in model.modules() for value in vars(module).values())
    return {id(one): one.detach() for one in kept if isinstance(one, torch.Tensor) and not one.is_leaf}


def _check_order(order: Order, name: str, found: Tokens) -> None:
    # Only the first tokens may show nothing, and the others show the patches row by row, and nothing else.
    before, rest = order.patches[: found.num_prefix], order.patches[found.num_prefix :]
    if NOTHING in rest or max(before, default=NOTHING) > NOTHING:
        places = [str(token) for token, shown in enumerate(order.patches) if shown == NOTHING]
        wanted = (
            f"{len(before)} of {len(order.patches)} tokens ({', '.join(found.prefix)}) were"
            if before
            else "no token was"
        )
        at = f"the tokens that do are {few(places)}" if places else "all tokens show one"
        raise ValueError(f"{name} was tested: {wanted} expected to come first and to show no patch, but {at}. {DRAWN}")
    for place, shown in enumerate(rest):
        if shown not in (place, SEVERAL):
            at, instead = (Tokens((), found.grid).name(each) for each in (place, shown))
            raise ValueError(f"{name} was tested: the token of {at} shows the patch of {instead}. {DRAWN}")


def _tested_place(order: Order, model: nn.Module, first: str, channels: int, found: Tokens) -> Tokens:
    # The same tokens, if their patches lie where they are said to. If something mixes the patches before the first
    # layer, it is not known what a token sees.
    geometry, before = found.geometry, found.num_prefix
    if geometry is None or geometry.size is None:
        return found
    mixed, beyond = SEVERAL in order.patches[before:], any(token >= before for token in order.beyond)
    wrong = beyond and not mixed
    if mixed and geometry.fills_cells:
        # Where patches overlap, a token sees more than its cell; where they lie beside their cells, not all of it.
        alone = [probe_order(model, first, channels, geometry, (corner,)) for corner in (0, 1)]
        wrong = not all(each is None or each.own for each in alone)
    if wrong:
        (height, width), (tall, wide) = geometry.image_size, geometry.size
        raise ValueError(
            f"{type(model).__name__} was tested: in an image of {height} x {width} its patches of {tall} x {wide} "
            "pixels do not lie where its patch embedding says, for example because it resizes its images: give it "
            "images whose sides are multiples of the patch size"
        )
    known = not mixed or not (geometry.fills_cells or beyond)
    return found if known else _without_pixels(found)


def _without_pixels(found: Tokens) -> Tokens:
    # Without the pixels that the patches cover.
    return found if found.geometry is None else replace(found, geometry=replace(found.geometry, size=None))
