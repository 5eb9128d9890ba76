"""Probes a model: changes the pixels of patches, and sees which tokens change before the first attention."""

import threading
from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

import torch
from torch import nn

from vit_course.maps.active_interventions import paused_interventions, unrecorded
from vit_course.maps.anatomy import Anatomy, few
from vit_course.maps.foreign_recording import EAGER
from vit_course.maps.forward_pass import evaluated
from vit_course.maps.recorded_attention import HOOKS
from vit_course.maps.tokens import Tokens, find_tokens
from vit_course.vit import ViT

STRENGTH = 4.0  # of a change, in standard deviations of the random images
# For each token the patch that it shows, counted row by row: `NOTHING` if no pixel changes it, `SEVERAL` if those of
# more than one patch do, as behind a stem of overlapping convolutions.
NOTHING, SEVERAL = -1, -2
Order = tuple[int, ...]
DRAWN = "Maps can be drawn only where all other tokens come first, and then the patches row by row"
_found: WeakKeyDictionary[nn.Module, dict[tuple, Order | None]] = WeakKeyDictionary()


class _Arrived(Exception):
    """Ends a forward pass once the tokens have reached the first attention layer."""


def probe_order(anatomy: Anatomy, image_size: tuple[int, int], grid: tuple[int, int]) -> Order | None:
    """Which patch each token shows, found on the model itself, once for each size and grid.

    About 2 log2(N) random images run as far as the first attention layer, for which the N patches are numbered in
    binary: in two images for each binary digit, the middle of those patches changes that have it, or have it not.
    A token that shows one patch changes in exactly one of the two.

    Args:
        anatomy: of the model.
        image_size: (H, W)
        grid: (rows, columns) of patches.

    Returns:
        The number of the patch, `NOTHING` or `SEVERAL` for each of the T tokens; None if the model cannot be run in
        this way: it takes other arguments, or has no attention layer that can be heard.
    """
    known = _found.setdefault(anatomy.model, {})
    key = (image_size, grid)
    if key not in known:
        known[key] = _probed(anatomy, image_size, grid)
    return known[key]


@torch.no_grad()
def _probed(anatomy: Anatomy, image_size: tuple[int, int], grid: tuple[int, int]) -> Order | None:
    count = grid[0] * grid[1]
    numbers = torch.arange(count)
    digits = [(numbers >> place) & 1 == 1 for place in range(max(1, (count - 1).bit_length()))]  # (N,) each
    chosen = torch.stack([each for digit in digits for each in (digit, ~digit)])  # (2 bits, N)
    generator = torch.Generator().manual_seed(0)
    image = torch.randn(1, anatomy.channels, *image_size, generator=generator)
    images = image.repeat(1 + len(chosen), 1, 1, 1)
    for number, (row, column) in enumerate(_middles(anatomy, image_size, grid)):
        images[1:][chosen[:, number], :, row, column] += STRENGTH
    like = next(anatomy.model.parameters(), image)
    tokens = _tokens_of(anatomy, images.to(like.device, like.dtype))
    if tokens is None:
        return None
    tokens = tokens.float()
    distance = (tokens[1:] - tokens[:1]).abs().amax(dim=2)  # (2 bits, T)
    changed = (distance > 1e-3 * distance.max()).unflatten(0, (-1, 2))  # (bits, 2, T)
    found = sum(changed[place, 0].long() << place for place in range(len(digits)))  # (T,)
    one = (changed.sum(dim=1) == 1).all(dim=0) & (found < count)
    none = ~changed.any(dim=0).any(dim=0)
    return tuple(torch.where(none, NOTHING, torch.where(one, found, SEVERAL)).tolist())


def _middles(anatomy: Anatomy, image_size: tuple[int, int], grid: tuple[int, int]) -> Iterator[tuple[int, int]]:
    # -> (row, column) of the pixel in the middle of each patch, by the first convolution if its steps are the patches.
    steps: list[float] = [size / count for size, count in zip(image_size, grid, strict=True)]
    starts = [0.0, 0.0]
    projection = next((module for module in anatomy.paths if isinstance(module, nn.Conv2d)), None)
    if projection is not None and projection.kernel_size == projection.stride:
        padding = projection.padding if isinstance(projection.padding, tuple) else (0, 0)
        sides = [s + 2 * p for s, p in zip(image_size, padding, strict=True)]
        whole = tuple(side // k for side, k in zip(sides, projection.stride, strict=True))
        begun = tuple(-(-side // k) for side, k in zip(sides, projection.stride, strict=True))  # by padding
        if grid in (whole, begun):
            steps, starts = [float(k) for k in projection.stride], [-float(p) for p in padding]
    for row in range(grid[0]):
        for column in range(grid[1]):
            yield tuple(
                min(max(int(start + (place + 0.5) * step), 0), size - 1)
                for start, place, step, size in zip(starts, (row, column), steps, image_size, strict=True)
            )


def _tokens_of(anatomy: Anatomy, images: torch.Tensor) -> torch.Tensor | None:
    # (B, C, H, W) -> (B, T, D): what the first attention layer of the model is given.
    arrived: list[torch.Tensor] = []
    thread = threading.get_ident()

    def hook(_: nn.Module, args: tuple, kwargs: dict) -> None:
        if threading.get_ident() != thread:
            return
        given = next((x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)), None)
        if given is not None:
            arrived.append(given.detach())
            raise _Arrived

    model = anatomy.model
    layers = [each for each in anatomy.attention.values() if not isinstance(each, torch.jit.ScriptModule)]
    with HOOKS:
        hooks = [layer.register_forward_pre_hook(hook, with_kwargs=True) for layer in layers]
    try:
        # A compiled model is run as it is written, so that it can be left in the middle.
        with EAGER, evaluated(model), unrecorded(), paused_interventions():
            model(images)
    except _Arrived:
        pass
    except Exception:  # a foreign model may raise anything, and then nothing is known
        return None
    finally:
        with HOOKS:
            for each in hooks:
                each.remove()
    if not arrived or arrived[0].ndim != 3:
        return None
    tokens = arrived[0]
    if len(tokens) == len(images):
        return tokens
    return tokens.transpose(0, 1) if tokens.shape[1] == len(images) else None  # (T, B, D)


def find_probed_tokens(
    num_tokens: int,
    image_size: tuple[int, int] | None,
    anatomy: Anatomy,
    grid: tuple[int, int] | None = None,
    prefix: int | Sequence[str] | None = None,
) -> Tokens:
    """As `find_tokens`, tested on the model itself; if it does not say its prefix, the test says how long it is.

    A token has to change with the pixels of its patch and of no other. Not tested are our own `ViT`, whose order is
    known, and a model of which no image was seen.

    Raises:
        ValueError: as `find_tokens`, or a token that shows another patch, or none.
    """
    if type(anatomy.model) is ViT or image_size is None:
        return find_tokens(num_tokens, image_size, anatomy, grid, prefix)
    place = anatomy.grid(image_size) if grid is None else grid
    if prefix is None and anatomy.prefix is None and place is not None:
        order = probe_order(anatomy, image_size, place)
        if order is not None and len(order) == num_tokens:
            prefix = max(num_tokens - place[0] * place[1], 0)
    found = find_tokens(num_tokens, image_size, anatomy, grid, prefix)
    order = probe_order(anatomy, image_size, found.grid)
    if order is not None and len(order) == num_tokens:  # else it could not be tested
        _check_order(order, anatomy.name, found)
    return found


def _check_order(order: Order, name: str, found: Tokens) -> None:
    # Only the first tokens may show nothing, and the others show the patches row by row.
    before, rest = order[: found.num_prefix], order[found.num_prefix :]
    if NOTHING in rest or max(before, default=NOTHING) > NOTHING:
        places = [str(token) for token, shown in enumerate(order) if shown == NOTHING]
        wanted = f"{len(before)} of {len(order)} tokens ({', '.join(found.prefix)}) were" if before else "no token was"
        at = f"those at {few(places)} do" if places else "all show one"
        raise ValueError(f"{name} was tested: {wanted} expected to come first and to show no patch, and {at}. {DRAWN}")
    for place, shown in enumerate(rest):
        if shown not in (place, SEVERAL):
            at, instead = (Tokens((), found.grid).name(each) for each in (place, shown))
            raise ValueError(f"{name} was tested: the token of {at} shows the patch of {instead}. {DRAWN}")
