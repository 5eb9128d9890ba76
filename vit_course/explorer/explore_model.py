"""Opens the attention explorer on a model and an image, in one call; or on images that are uploaded with a button."""

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import nn

from vit_course._support.inputs.tensors import need_finite
from vit_course.data.pictures import Picture
from vit_course.explorer.arguments import check_callable, check_has_numbers, need_grid, need_titles
from vit_course.explorer.changes import Changes, family, need_families
from vit_course.explorer.comparison import CHANGE, changed, link_of
from vit_course.explorer.phrases import classifier_of
from vit_course.explorer.predictions import names_in, predicted_words
from vit_course.explorer.prepared import Prepared, Unnormalised, prepare, preprocessing_of, preprocessing_of_model
from vit_course.explorer.seen_area import cut_to_patches
from vit_course.explorer.upload import PictureUpload
from vit_course.explorer.widget import AttentionExplorer
from vit_course.maps.interventions.forward_pass import ForwardPass
from vit_course.maps.models.description import find_description
from vit_course.maps.models.statements import Statements
from vit_course.maps.models.tokens import Tokens, need_prefix
from vit_course.maps.recording import RecordedMaps, record_attention
from vit_course.maps.run_model import evaluated, run
from vit_course.pretrained.pretrained_model import Pretrained, none_fits
from vit_course.vit import ViT

# As `explore` takes them.
Grid = tuple[int, int] | None
Prefix = int | Sequence[str] | None
Labels = Sequence[str] | None


def explore(
    model: nn.Module | Pretrained | list,
    image: "Picture | torch.Tensor | list",
    preprocess: Callable | list | None = None,
    grid: tuple[int, int] | None = None,
    prefix: int | Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    beside: str | None = None,
    titles: Sequence[str] | None = None,
    effects: bool | Sequence[str] = False,
    phrases: Sequence[str] | None = None,
    **state: Any,  # each part has a type of its own
) -> AttentionExplorer:
    """Runs the model on an image and returns an `AttentionExplorer` of where it looks.

    The explorer gets the model's queries and keys if they can be recorded, otherwise its maps. If its family is
    known by name, or `maps.describe` has described it, the explorer also gets the tokens after the last norm and, if
    there is a head, the predictions for the image, at the end and after each layer.

    What `preprocess` is given depends on its kind. One that is made for pictures gets the picture, upright and in RGB,
    whatever its size: the `preprocess` of `pretrained.load_run`, a transform of torchvision's or timm's, an entry of
    torchvision's weights, a processor of Hugging Face's. Any other function, such as `dataset.normalise`, gets a batch
    (1, C, H, W) in the model's size, of bytes for a picture, and of the given type for a tensor. By default a picture,
    or a tensor of bytes, is prepared as the `pretrained_cfg` of a timm model or the processor next to the weights of a
    Hugging Face model says; floats go in unchanged. Inside `nn.DataParallel`, a compiled model, an average of weights
    or one with PEFT's adapters, the model says this and the names of its classes. A class of your own around a model
    may change images and output, so there it is asked for. The explorer shows the image as the model's patches see it,
    without pixels at its edge that belong to no patch, and hatched where the model pads it; a note says so.

    Args:
        model: ours, or a ViT of torchvision, timm or Hugging Face, or any other whose attention `record_attention`
            can record; or a `Pretrained`, whose preprocess is used; or a list of models, shown side by side.
        image: a tensor (C, H, W) or (1, C, H, W), bytes or floats; or a picture: a path, the bytes of a file, the file
            object, or a Pillow image. If its size is not the one that the model takes and `preprocess` does not
            change it, a tensor is stretched, and a picture, once upright, is resized to cover it and cropped.
            Or a list of images, shown side by side.
        preprocess: from the picture or the batch to what the model takes; for several models, it may be a list.
        grid: (rows, columns) of patches; by default the model's own, else the grid of square patches that fits.
        prefix: the names of the tokens before the patches, or their number; by default the model's own.
        labels: the names of the classes; by default those of the model, its preprocessing or its `Pretrained`.
        beside: "flipped", "shuffled" or "cropped": the same picture, changed in this way, is shown next to it, and one
            query marks the same content in both.
        titles: a name for each of several panels; by default those of the files or the models, or letters.
        effects: what to compute at once for "Effect of each head" and "Test it", so that it is available without a
            kernel: True for each head replaced by the mean over its tokens, in as many forward passes as
            there are heads; or several of "token mean", "zero", and "patches", hidden in at most 100 blocks. With a
            kernel the page computes the rest on demand.
        phrases: for a `training.Contrastive` as the model: sentences that become its classes, and with which the view
            "similarity" compares each patch.
        state: initial state of the `AttentionExplorer`, such as `layer=3`.

    Raises:
        TypeError: a model that is not a module, or a state of an unknown name.
        ValueError: an image that cannot be used, a model whose attention cannot be recorded or matched to patches, or a
            library's model that does not say how to prepare images; a `preprocess` that does not give one image; more
            or fewer labels than classes; or a grid, a prefix or a state that does not fit; unknown effects, or effects
            of a model that cannot be changed.
    """
    families = need_families(effects)
    need_grid(grid)
    need_prefix(prefix)
    clip: Any = model
    if phrases is not None:
        model, labels = classifier_of(model, phrases), list(phrases)
    pairs = _pairs(model, image, preprocess)
    runs = []
    for one, each, way in pairs:
        named = one.class_names if labels is None and isinstance(one, Pretrained) else labels
        one, way = _parts(one, way)
        # Called from here, so that its warning names the reader's line.
        runs.append(_run_on(one, way, prepare(one, each, way), grid, prefix, named))
    if beside is not None:
        CHANGE("beside", beside)
        if len(runs) > 1:
            raise ValueError(f"beside={beside!r} takes one model and one image, got {len(runs)} to show side by side")
        runs.append(runs[0].changed(beside, grid, prefix, labels))
        titles = ["the picture", beside] if titles is None else titles
    for each in runs:
        if phrases is not None:
            each.panel["phrases"] = clip.token_cosines(each.panel["features"], labels)
        each.measure(families)
    if len(runs) == 1:
        return AttentionExplorer(**runs[0].panel, titles=titles, **state)
    listed = {name: [each.panel[name] for each in runs] for name in runs[0].panel}  # one of each for each panel
    titles = _titles(pairs) if titles is None else need_titles(titles)
    return AttentionExplorer(**listed, titles=titles, **state)


@dataclass
class _Run:
    """A model that was run on one picture, and the arguments of its explorer's panel."""

    model: nn.Module
    preprocess: Callable | None
    prepared: Prepared
    panel: dict[str, Any]
    order: Tokens

    def measure(self, families: Sequence[str]) -> None:
        """Computes the effects of these families of changes; after a KeyboardInterrupt the results so far are kept."""
        maps = self.panel["maps"]
        layers, heads = (maps[0] if isinstance(maps, tuple) else maps).shape[-4:-2]
        changes = [each for name in families for each in family(name, layers, heads, self.order.grid)]
        with suppress(KeyboardInterrupt):
            if changes:
                self.panel["changes"].turned(changes, progress=True)

    def changed(self, how: str, grid: Grid, prefix: Prefix, labels: Labels) -> "_Run":
        """The same model on the same picture, changed."""
        shown, given = self.prepared.shown[None], self.prepared.given
        prepared = Prepared(changed(shown, self.order, how)[0], changed(given, self.order, how))
        other = _run_on(self.model, self.preprocess, prepared, grid, prefix, labels)
        other.panel["link"] = link_of(self.order, how)
        return other


def _pairs(model: object, image: object, preprocess: object) -> list[tuple]:
    # -> model, image and preprocess of each panel.
    models = model if isinstance(model, list) else [model]
    images = image if isinstance(image, list) and _are_images(image) else [image]
    if not models or (len(models) > 1 and len(images) > 1):
        raise ValueError(
            f"several models take one image, and several images one model: got {len(models)} models and "
            f"{len(images)} images"
        )
    ways = preprocess if isinstance(preprocess, list) else [preprocess] * len(models)
    if len(ways) != len(models):
        raise ValueError(f"there are {len(models)} models and {len(ways)} preprocess: give one for each model")
    return [(one, each, way) for one, way in zip(models, ways, strict=True) for each in images]


def _are_images(given: list) -> bool:
    # Whether a list holds images, and not the numbers of one image.
    return bool(given) and all(not isinstance(one, (int, float, list, tuple)) for one in given)


def _titles(pairs: list[tuple]) -> list[str]:
    images = [image for _, image, _ in pairs]
    if all(isinstance(image, (str, Path)) for image in images) and len(set(images)) == len(images):
        return [Path(image).stem for image in images]
    kinds = [type(model.model if isinstance(model, Pretrained) else model).__name__ for model, _, _ in pairs]
    return kinds if len(set(kinds)) == len(kinds) else [chr(ord("A") + index) for index in range(len(pairs))]


def _parts(model: Any, preprocess: Callable | None) -> tuple[nn.Module, Callable | None]:
    # Splits a `Pretrained`, and checks what the caller gave; hence Any.
    if isinstance(model, Pretrained):
        model, preprocess = model.model, model.preprocess if preprocess is None else preprocess
    check_has_numbers(model)
    if preprocessing_of(preprocess) is None:
        check_callable("preprocess", preprocess)
    return model, preprocess


def _run_on(
    model: nn.Module, preprocess: Callable | None, prepared: Prepared, grid: Grid, prefix: Prefix, labels: Labels
) -> _Run:
    first = next(model.parameters(), prepared.given)
    images = prepared.given.to(first.device, first.dtype)
    with evaluated(model):
        recorded, seen, answer = _record(model, images)
        order = recorded.tokens(grid, prefix)
        maps: torch.Tensor | tuple[torch.Tensor, ...]
        try:
            maps = tuple(each.float() for each in recorded.queries_and_keys())
        except ValueError:  # only weights were recorded, or others than queries and keys give
            maps = recorded.stacked().float()
        answered = answer if isinstance(answer, torch.Tensor) else getattr(answer, "logits", None)
        if isinstance(answered, torch.Tensor):
            need_finite("what the model says", answered)
        none = none_fits(model, answer) if isinstance(answer, torch.Tensor) else None
        inside, unnamed = Statements(model), ""
        if labels is None:
            labels, unnamed = names_in(inside, preprocess, answer)
        says = None
        if seen is not None and inside.gives_one_class:
            num_classes = inside.num_classes if labels is None else None  # names are enough
            says = predicted_words(seen, images, answer, labels, none, num_classes=num_classes, unnamed=unnamed)
    features = None if seen is None else seen.features
    image, whole, note = cut_to_patches(prepared, order.geometry)
    panel: dict[str, Any] = {
        **dict(maps=maps, image=image, grid=order.grid, prefix=order.prefix),
        "features": features[0] if features is not None and features.shape[:2] == (1, maps[0].shape[-2]) else None,
        "says": says,
        "link": None,
        "phrases": None,
        **dict(whole=whole, note=note),
    }
    given = (model, preprocess, prepared, grid, prefix, labels)
    panel["changes"] = Changes(model, prepared.given, lambda: _run_on(*given).panel)
    return _Run(model, preprocess, prepared, panel, order)


def _record(model: nn.Module, images: torch.Tensor) -> tuple[RecordedMaps, ForwardPass | None, Any]:
    # (1, C, H, W) -> the recorded attention, the tokens between the layers (None without a description), the output.
    try:
        seen = None if find_description(model) is None else ForwardPass(model)
    except ValueError:  # the recording says why
        seen = None
    listening = nullcontext() if seen is None else seen.listening()
    try:
        with torch.no_grad(), listening, record_attention(model) as recorded:
            answer = run(model, images)
    except Exception as error:  # a foreign model may raise anything
        if isinstance(model, ViT) and isinstance(error, ValueError):  # our own model's message is clear already
            raise
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        hint = "; it has several parts: explore model.vision_model" if hasattr(model, "vision_model") else ""
        raise ValueError(f"the model cannot take images of shape {tuple(images.shape)}: {reason}{hint}") from error
    return recorded, seen, answer


def upload(
    model: nn.Module | Pretrained,
    preprocess: Callable | None = None,
    grid: tuple[int, int] | None = None,
    prefix: int | Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
    **state: Any,
) -> PictureUpload:
    """Shows a button for a picture of your own, and below it the `AttentionExplorer` of each picture that is chosen.

    Args:
        model, preprocess, grid, prefix, labels, state: as `explore` takes them, for one model.

    Returns:
        The button; its `explorer` belongs to the last picture, or is None.

    Raises:
        TypeError: a model that is not a module.
        ValueError: a model that gives neither a preprocessing nor an image size, or an invalid `preprocess`, grid or
            prefix.
    """
    if labels is None and isinstance(model, Pretrained):
        labels = model.class_names  # empty where it has no classes
    model, preprocess = _parts(model, preprocess)
    need_grid(grid)
    need_prefix(prefix)
    size = Statements(model).image_size
    way = preprocessing_of_model(model) if preprocess is None else preprocessing_of(preprocess)
    treatment = "upright and as its preprocessing crops it"
    if way is None:
        if size is None:
            raise ValueError(
                "upload cannot find out which image size the model takes: resize the picture yourself and call explore"
            )
        treatment = f"upright and cropped at its centre, at {size[0]} x {size[1]} pixels"
        treatment += ", not normalised" * (preprocess is None)

    def show(file: BinaryIO) -> AttentionExplorer:
        with warnings.catch_warnings(action="ignore", category=Unnormalised):  # the text below the button says so
            return explore(model, file, preprocess if way is None else way, grid, prefix, labels, **state)

    return PictureUpload(show, treatment)
