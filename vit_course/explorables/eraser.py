"""Chapter 09: a square is dragged over a photograph; do the patches that change the answer have the most attention?"""

from collections.abc import Callable, Mapping
from functools import cache

import torch
from matplotlib.figure import Figure

from vit_course._support.inputs.rules import shown, text
from vit_course._support.widgets.encoding import Sections
from vit_course.data.pictures import Picture, normalise, open_image
from vit_course.explorables.explorable import Explorable
from vit_course.explorables.tiny_vit import CROPPED, described, opened, tiny_vit
from vit_course.maps import record_attention

PHOTOGRAPHS = ("cat", "coffee", "photographer")
LACKING = ["coffee", "photographer"]  # photographs of none of the model's classes
SIDE = 8  # patches along a side of the model's images


def eraser(pictures: dict[str, Picture] | None = None, **state) -> Explorable:
    """A square to drag over a photograph: tiny-cifar answers anew for each place, beside its attention map.

    Args:
        pictures: pictures of your own by their names, as `data.open_image` takes them; they come before the course's.
        state: `photograph`, a number; `row` and `column` of the upper left patch under the square, which is `size`
            patches wide, 1 to 4; `filling`, "grey", the mean of the training images, or "other", a piece of the next
            photograph; `layer` of the attention map, 0 to 3; `pins`, the numbers of the two pinned patches, -1 for
            none.

    Raises:
        ValueError, OSError: pictures that are not a dict, an invalid state, or as `open_image` for the pictures.

    Source: Zeiler & Fergus 2013 (arXiv:1311.2901), section 4.2, for the grey square.
    """
    if not isinstance(pictures, Mapping | None):
        raise ValueError(f"pictures must be a dict of pictures by their names, got {shown(pictures)}")
    for name in pictures or {}:
        text("the name of a picture", name)
    height_width = tiny_vit().model.config.height_width
    given = {name: open_image(picture, height_width) for name, picture in (pictures or {}).items()}
    ours = {name: open_image(opened(name), height_width) for name in PHOTOGRAPHS if name not in given}
    cropped = {name: said for name, said in CROPPED.items() if name in ours}
    names, images = [*given, *ours], torch.stack([*given.values(), *ours.values()])  # (n, C, H, W)
    sections = Sections()
    sections.bytes("photos", images.permute(0, 2, 3, 1).numpy())
    facts = {"model": described(sections), "names": names, "lacking": LACKING, "cropped": cropped}
    facts["counts"] = {"photographs": len(names)}
    computed = computing(images)
    return Explorable("eraser", facts, lambda state: still(state, computed, images, names), computed, sections, **state)


def erased(image: torch.Tensor, filling: torch.Tensor, top: int, left: int, size: int, patch: int) -> torch.Tensor:
    """(C, H, W), (C, H, W) -> (C, H, W): a copy with a square of `size` patches from the filling."""
    out, place = (
        image.clone(),
        (..., slice(top * patch, (top + size) * patch), slice(left * patch, (left + size) * patch)),
    )
    out[place] = filling[place]
    return out


def ranks(values: torch.Tensor) -> torch.Tensor:
    """(n,) -> (n,): 1 for the smallest; equal values share the mean of their ranks."""
    lower, same = values[:, None] > values, values[:, None] == values
    return lower.sum(dim=1) + (same.sum(dim=1) + 1) / 2


def rank_correlation(x: torch.Tensor, y: torch.Tensor) -> float:
    """(n,), (n,) -> from -1 to 1: Spearman's rank correlation; 0 if all values of one are equal."""
    both = torch.stack([ranks(x.double()), ranks(y.double())])
    return torch.corrcoef(both)[0, 1].nan_to_num().item()


def computing(images: torch.Tensor) -> Callable[[dict], dict]:
    """Returns the function `computed`, from a state to its results, for images (n, C, H, W) of bytes."""
    model, preprocess, _ = tiny_vit()
    inputs, patch = normalise(images, preprocess.mean, preprocess.std), model.config.patch_size

    @cache
    @torch.no_grad()
    def intact(photograph: int) -> tuple[torch.Tensor, torch.Tensor]:
        with record_attention(model) as recorded:
            shares = model(inputs[photograph, None]).softmax(dim=-1)[0]  # (K,)
        return shares, recorded.stacked()[0, :, :, 0, 1:].mean(dim=1)  # (L, N): the class token's, mean of heads

    @cache
    @torch.no_grad()
    def everywhere(photograph: int, filling: str, size: int) -> torch.Tensor:
        image = inputs[photograph]
        other = inputs[(photograph + 1) % len(inputs)] if filling == "other" else torch.zeros_like(image)
        places = torch.cartesian_prod(*[torch.arange(SIDE + 1 - size)] * 2).tolist()
        return model(torch.stack([erased(image, other, top, left, size, patch) for top, left in places])).softmax(
            dim=-1
        )  # (n, K)

    def computed(state: dict) -> dict:
        size, along = state["size"], SIDE + 1 - state["size"]
        whole, maps = intact(state["photograph"])
        covered = everywhere(state["photograph"], state["filling"], size)
        place = min(state["row"], along - 1) * along + min(state["column"], along - 1)
        answer = int(whole.argmax())
        effects = whole[answer] - covered[:, answer]  # (n,)
        attention = maps[state["layer"]]  # (N,)
        under = attention.unflatten(0, (SIDE, SIDE)).unfold(0, size, 1).unfold(1, size, 1).mean(dim=(-2, -1)).flatten()
        return {
            "intact": whole.tolist(),
            "probabilities": covered[place].tolist(),
            "answer": answer,
            "place": place,
            "attention": attention.tolist(),
            "under": under.tolist(),
            "effects": effects.tolist(),
            "agreement": rank_correlation(under, effects),
        }

    return computed


def still(state: dict, computed: Callable, images: torch.Tensor, names: list[str]) -> tuple[Figure, str]:
    """Draws the photograph with its square, both maps, and one against the other; describes them in words."""
    found, size, side = computed(state), state["size"], SIDE + 1 - state["size"]
    photograph, words = state["photograph"], tiny_vit().class_names
    _, preprocess, _ = tiny_vit()
    grey = torch.tensor(preprocess.mean)[:, None, None].mul(255).round().byte().expand_as(images[0])
    filling = images[(photograph + 1) % len(images)] if state["filling"] == "other" else grey
    top, left = divmod(found["place"], side)
    patch = images.shape[-1] // SIDE
    before, after = (found[key][found["answer"]] for key in ("intact", "probabilities"))
    answer = words[found["answer"]]
    fig = Figure(figsize=(8.2, 2.7), layout="constrained")
    axes = fig.subplots(1, 4)
    axes[0].imshow(erased(images[photograph], filling, top, left, size, patch).permute(1, 2, 0).numpy())
    axes[0].set_title(f"{answer}: {before:.0%}, erased {after:.0%}", fontsize=10)
    for ax, values, of, title in zip(
        axes[1:3], ("attention", "effects"), (1, size), ("attention", "effect"), strict=True
    ):
        some = torch.tensor(found[values])
        along = SIDE + 1 - of
        for at, value in enumerate(some / some.abs().max()):
            y, x, half = at // along + of / 2, at % along + of / 2, abs(value) ** 0.5 * 0.45
            box = [x - half, x + half, x + half, x - half, x - half], [y - half, y - half, y + half, y + half, y - half]
            ax.fill(*box, facecolor="#c2410c" if value > 0 else "none", edgecolor="#c2410c" if value > 0 else "#0072b2")
        ax.set(xlim=(0, SIDE), ylim=(SIDE, 0), aspect="equal")
        ax.set_title(f"{title}, at most {some.abs().max():.1%}", fontsize=10)
    axes[2].set_xlabel(f"filled: {answer} loses\nhollow: it gains")
    for ax, scale in zip(axes[:3], (patch, 1, 1), strict=True):
        shift = 0.5 if scale > 1 else 0
        x, y, w = left * scale - shift, top * scale - shift, size * scale
        ax.plot([x, x + w, x + w, x, x], [y, y, y + w, y + w, y], color="black", linewidth=1.5)
        ax.set(xticks=[], yticks=[])
    axes[3].plot(
        100 * torch.tensor(found["under"]), 100 * torch.tensor(found["effects"]), "o", color="0.45", markersize=3
    )
    here = [100 * found[name][found["place"]] for name in ("under", "effects")]
    axes[3].plot(*here, "o", color="none", markeredgecolor="black", markersize=9)
    axes[3].axhline(0, color="black", linewidth=0.8)
    axes[3].set(xlabel="attention (%)", ylabel="the answer loses (points)")
    axes[3].set_title(f"rank correlation {found['agreement']:.2f}", fontsize=10)
    return fig, (
        f"A square over row {top}, column {left} of the photograph {names[photograph]!r}: {answer} goes from "
        f"{before:.0%} to {after:.0%}. Beside it the attention to each patch and the effect of erasing each place; "
        f"their rank correlation is {found['agreement']:.2f}"
    )
