"""Probes a model: does each attention layer read the output of earlier ones, and no head that of another head?"""

import threading
from weakref import WeakKeyDictionary

import torch
from torch import nn

from vit_course.maps.anatomy import Anatomy
from vit_course.maps.foreign_recording import ForeignRecording
from vit_course.maps.recorded_attention import RecordedAttention
from vit_course.maps.trial_run import trial_run

# For each attention of a pass, in their order, the earlier ones of which it reads something.
Reads = list[set[int]]
_found: WeakKeyDictionary[nn.Module, dict[tuple[int, int], Reads | str | None]] = WeakKeyDictionary()


def check_layers(watched: ForeignRecording, image_size: tuple[int, int] | None) -> None:
    """Checks on the model itself that its recorded layers follow one another, and that the heads of one do not.

    A model that cannot be run on a random image, or that cuts the graph of autograd, is not tested.

    Args:
        watched: a recording with its layers.
        image_size: (H, W) of its images; None if it is not known.

    Raises:
        ValueError: two layers, neither of which reads the output of the other, or two heads, one of which does.
    """
    reads = None if image_size is None else probe_layers(watched.anatomy, image_size)
    if isinstance(reads, str):
        raise ValueError(f"{watched.anatomy.name} was tested with one image: {reads}")
    for order in watched.calls.orders:
        if reads is None or len(order) != len(reads):
            continue
        for second in range(len(order)):
            for first in range(second):
                one_layer, follows = order[first] == order[second], first in reads[second]
                if one_layer == follows:
                    raise ValueError(_message(watched, order[first], order[second], follows))


def are_tested(watched: ForeignRecording, image_size: tuple[int, int] | None) -> bool:
    """Whether `check_layers` could test the layers of every pass of a recording."""
    reads = None if image_size is None else probe_layers(watched.anatomy, image_size)
    return isinstance(reads, list) and all(len(order) in (0, len(reads)) for order in watched.calls.orders)


def _message(watched: ForeignRecording, first: int, second: int, follows: bool) -> str:
    name, places = watched.anatomy.name, watched.places
    if follows:
        return f"{name} was tested: one of the heads of {places[first]} reads the output of another, so they are layers"
    return (
        f"{name} was tested: neither {places[first]} nor {places[second]} reads the output of the other, so they are "
        "heads, branches or models side by side, and not two layers: record only one of them"
    )


def probe_layers(anatomy: Anatomy, image_size: tuple[int, int]) -> Reads | str | None:
    """Finds which attentions read the output of which earlier ones, once for each model and size of image.

    One random image runs through the model, and autograd's graph is searched for a path from the result of each
    attention back to those of the others. This also holds for layers that add nothing yet.

    Args:
        anatomy: of the model.
        image_size: (H, W)

    Returns:
        None if the model cannot be run in this way, or not everything can be followed; or why there are no maps.
    """
    known = _found.setdefault(anatomy.model, {})
    if image_size not in known:
        known[image_size] = _probed(anatomy, image_size)
    return known[image_size]


class _Linked(ForeignRecording):
    """A recording for its own use, whatever else is recorded, which keeps the node of each attention in the graph."""

    def __init__(self, anatomy: Anatomy):
        super().__init__(anatomy)
        self.nodes: list[torch.autograd.graph.Node | None] = []

    def _hears(self) -> bool:
        return threading.get_ident() == self.thread

    def _add(self, path: str, kept: RecordedAttention) -> None:
        super()._add(path, kept)
        result = self.tracer.result
        result = result[0] if isinstance(result, tuple) else result
        self.nodes.append(result.grad_fn if isinstance(result, torch.Tensor) else None)


def _probed(anatomy: Anatomy, image_size: tuple[int, int]) -> Reads | str | None:
    linked, model = _Linked(anatomy), anatomy.model
    try:
        with torch.inference_mode(False), torch.enable_grad(), trial_run(model):
            image = torch.randn(1, anatomy.channels, *image_size, generator=torch.Generator().manual_seed(0))
            like = next(model.parameters(), image)
            with linked.watching():
                anatomy.run(image.to(like.device, like.dtype).requires_grad_())
    except Exception:  # a foreign model may raise anything, and then nothing is known
        return None
    if linked.by_layer and (reason := linked.reason()):
        return reason
    count = len(next(filter(None, linked.calls.orders), []))  # of the first pass: a Siamese model has two
    nodes = linked.nodes[:count]
    if linked.tracer.cuts or not nodes or None in nodes:
        return None
    numbers = {node: number for number, node in enumerate(nodes)}
    reads: Reads = []
    for node in nodes:
        direct = _reached(node, numbers)
        reads.append(direct.union(*(reads[number] for number in direct)))
    return reads


def _reached(start: torch.autograd.graph.Node, numbers: dict) -> set[int]:
    # The nodes with numbers to which a way leads from this one, without another of them between.
    found: set[int] = set()
    visited, left = {start}, [start]
    while left:
        for node, _ in left.pop().next_functions:
            if node is not None and node not in visited:
                visited.add(node)
                if node in numbers:
                    found.add(numbers[node])
                else:
                    left.append(node)
    return found
