"""Chapter 02: the class that the head would predict from every token of a photograph, at each step of the small ViT."""

from collections import Counter

import torch
from matplotlib.figure import Figure

from vit_course._support.widgets.encoding import Sections
from vit_course.explorables.explorable import Explorable
from vit_course.explorables.tiny_vit import CROPPED, described, exact, image, pixels, tiny_vit, walk

PHOTOGRAPHS = ("cat", "rocket", "coffee", "photographer")
SHORT = {"airplane": "plane", "automobile": "auto"}
GRID, PATCH = 8, 4  # patches in a row, and pixels along one of them
STEPS = (
    "before the first block",
    *(f"after the {name} of block {layer}" for layer in range(4) for name in ("attention", "MLP")),
)


def vote(**state) -> Explorable:
    """The class that the head predicts from each of the 65 tokens of a photograph, at every step through the encoder.

    The model is `tiny-cifar`, its weights rounded to half precision. Its last norm and its head are applied to
    intermediate tokens, though they were trained only for the class token at the end. A covered patch is grey: the mean
    of the training images.

    Args:
        state: `step`, from 0, before the first block, to 8, after the last: two for each block, after its attention and
            after its MLP; `covered`, for each row of patches a number from 0 to 255, in which the bit of value 1 stands
            for the first patch, that of 128 for the last; `marked`, a step, 0 for none; `photograph`, "cat", "rocket",
            "coffee" or "photographer".

    Raises:
        ValueError: an invalid state.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens", for reading intermediate tokens.
    """
    sections = Sections()
    facts = {"config": described(sections), "photographs": list(PHOTOGRAPHS), "cropped": CROPPED}
    sections.bytes("pixels", pixels(PHOTOGRAPHS).numpy())
    return Explorable("vote", facts, still, computed, sections, **state)


def covered(state: dict) -> torch.Tensor:
    """Returns, as (N,) bool, which patches are covered."""
    return torch.tensor([row >> column & 1 for row in state["covered"] for column in range(GRID)]).bool()


def opinions(state: dict) -> torch.Tensor:
    """Returns the probabilities of the classes for each token, at all steps: (2L + 1, T, K)."""
    images = image(pixels(PHOTOGRAPHS)[PHOTOGRAPHS.index(state["photograph"])])  # (1, 3, H, W)
    grey = covered(state).unflatten(0, (GRID, GRID)).repeat_interleave(PATCH, dim=0).repeat_interleave(PATCH, dim=1)
    model, (seen, _) = exact(), walk(images.masked_fill(grey, 0))
    with torch.no_grad():
        return model.head(model.encoder.norm(seen[:, 0])).softmax(dim=-1)


def computed(state: dict) -> dict:
    """Returns the predictions at the step, and those of the class token at all steps.

    `said` (T) is the class predicted from each token at the step, and `shares` (K) are the class token's probabilities.
    `path` (2L + 1) is the class token's prediction at all steps; from step `settled` on it is the final one.
    """
    found = opinions(state)
    path = found[:, 0].argmax(dim=1)  # (2L + 1,)
    others = (path != path[-1]).nonzero()
    return {
        "said": found[state["step"]].argmax(dim=1).tolist(),
        "shares": found[state["step"], 0].tolist(),
        "path": path.tolist(),
        "settled": int(others[-1]) + 1 if len(others) else 0,
    }


def still(state: dict) -> tuple[Figure, str]:
    """Draws the photograph with the predicted class on each patch, at an intermediate step and at the end.

    The intermediate step is that of the state or, if that is the last one, the middle of the encoder.
    """
    names = tiny_vit().class_names
    picture = pixels(PHOTOGRAPHS)[PHOTOGRAPHS.index(state["photograph"])].numpy()
    fig, parts = Figure(figsize=(8.2, 5.1), layout="constrained"), []
    for ax, step in zip(fig.subplots(1, 2), (state["step"] if state["step"] < 8 else 4, 8), strict=True):
        found = computed(state | {"step": step})
        words = [names[k] for k in found["said"]]
        ax.imshow(picture, extent=(0, GRID, GRID, 0))
        for n, (word, grey) in enumerate(zip(words[1:], covered(state).tolist(), strict=True)):
            row, column = divmod(n, GRID)
            if grey:
                ax.fill([column, column + 1, column + 1, column], [row, row, row + 1, row + 1], color="0.5")
            box = {
                "facecolor": "white",
                "edgecolor": "black" if word == words[0] else "none",
                "alpha": 0.75,
                "pad": 1.5,
            }
            ax.text(column + 0.5, row + 0.5, SHORT.get(word, word), fontsize=7, ha="center", va="center", bbox=box)
        counts = Counter(words[1:])
        ax.set(xticks=[], yticks=[], title=f"{STEPS[step]}\nclass token: {words[0]}, {max(found['shares']):.0%}")
        most, count = counts.most_common(1)[0]
        ax.set_xlabel(f"framed: {counts[words[0]]} of 64 patches agree; most frequent: {most}, on {count}", fontsize=8)
        frequent = f"the most frequent word of the patches is {most}, on {count}"
        parts.append(f"{STEPS[step]} the class token says {words[0]}, {max(found['shares']):.0%}, {frequent}")
    return fig, f"A photograph ({state['photograph']}) with a word on each of its 64 patches: {'; '.join(parts)}"
