"""Chapter 10: find a part of one photograph in three others, and compare accuracies by the number of labels."""

import csv
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from vit_course import data
from vit_course._support.files.course_files import stored
from vit_course._support.widgets.encoding import Sections
from vit_course.explorables.explorable import Explorable

PHOTOGRAPHS = {
    "grace_hopper": "Grace Hopper",
    "astronaut": "the astronaut",
    "photographer": "the photographer",
    "cat": "the cat",
}
# The patches (row, column) that show an eye, marked by hand.
EYES = {
    "grace_hopper": [(4, 6), (4, 7), (4, 9)],
    "astronaut": [(3, 6), (3, 7)],
    "photographer": [(4, 7)],
    "cat": [(4, 4), (4, 5), *((5, c) for c in range(3, 7)), *((6, c) for c in (3, 4, 5, 6, 12, 13)), (7, 4), (7, 5)],
}
EYES["cat"] += [(7, 11), (7, 12), (7, 13), (8, 11), (8, 12)]
# The names in the figure, and the multiply-adds for one image, in millions, as chapter 10 counts them.
CONTENDERS = {"fine-tuned": 1095.8, "linear head": 1095.8, "ConvNet from scratch": 19.1, "ViT from scratch": 9.0}
OLDER = {"ConvNet from scratch": "ConvNet, AdamW", "ViT from scratch": "ViT, Muon"}  # the series with more images


def matcher(**state) -> Explorable:
    """Find a part of one photograph in three others; or choose a number of labels and compare four ways to ten classes.

    The patch tokens are those of vit-s14, reduced from 384 to 64 dimensions (`res/explorables/make_matcher.py`): 90 %
    of the patches keep their best match. The runs are stored in `res/few_labels` and, for more than 1,000 images, in
    the older `res/convnet` (one run for each number, and fewer epochs the more images).

    Args:
        state: `part`, "point" or "count"; `photo`, the number of the photograph, and `patch`, the (row, column) in it,
            that is searched for; `step`, for a number of labels of 100 * 10 ** (step / 100); `marks`, the steps at
            which the reader marks that the ConvNet and the ViT from scratch catch up with the model fine-tuned on 500
            labels, -1 for none.

    Raises:
        ValueError: an invalid state.
    """
    kept, sections = stored_tokens(), Sections()
    sections.bytes("tokens", kept["tokens"])
    sections.floats("steps", kept["steps"])
    for i, name in enumerate(PHOTOGRAPHS):
        sections.file(f"photo{i}", kept[name].tobytes(), "image/webp")
    eyes = [[16 * row + column for row, column in EYES[name]] for name in PHOTOGRAPHS]
    facts = {"photographs": list(PHOTOGRAPHS.values()), "eyes": eyes, "runs": runs(), "multiply_adds": CONTENDERS}
    return Explorable("matcher", facts, still, computed, sections, **state)


@cache
def stored_tokens() -> dict[str, np.ndarray]:
    """Loads the tokens (4 * N, 64) as bytes, with 128 for 0, the steps of their columns (64,), and the photographs."""
    with np.load(stored("explorables/matcher.npz")) as file:
        return dict(file)


@cache
def runs() -> dict[str, dict[str, list[float]]]:
    """Loads the stored runs of each contender.

    For each of `sizes`, the numbers of labels, they give the mean, lowest and highest accuracy in %, the mean `seconds`
    of training on one core, and the number of `runs`.
    """
    found = {}
    for name in CONTENDERS:
        values: dict[int, list[tuple[float, float]]] = {}
        for table, wanted, least in (("few_labels/table.csv", name, 0), ("convnet/table.csv", OLDER.get(name), 1001)):
            for row in csv.DictReader(stored(table).read_text(encoding="utf-8").splitlines()):
                if row["contender"] == wanted and int(row["images"]) >= least:
                    one = 100 * float(row["test_accuracy"]), float(row["processor_seconds"])
                    values.setdefault(int(row["images"]), []).append(one)
        by_size = {size: list(zip(*values[size], strict=True)) for size in sorted(values)}
        found[name] = {
            "sizes": list(by_size),
            "mean": [sum(accuracy) / len(accuracy) for accuracy, _ in by_size.values()],
            "lowest": [min(accuracy) for accuracy, _ in by_size.values()],
            "highest": [max(accuracy) for accuracy, _ in by_size.values()],
            "seconds": [sum(seconds) / len(seconds) for _, seconds in by_size.values()],
            "runs": [len(seconds) for _, seconds in by_size.values()],
        }
    return found


def labels(step: float) -> float:
    """Returns the number of labels of a step, rounded to a number that was run if that is within half a step."""
    sizes = {size for run in runs().values() for size in run["sizes"]}
    return next(
        (float(size) for size in sizes if abs(100 * np.log10(size / 100) - step) < 0.5), 100 * 10 ** (step / 100)
    )


def along(x: float, at: list[float], values: list[float]) -> float:
    """Interpolates linearly between points at x, and extrapolates the last line beyond them."""
    i = int(np.clip(np.searchsorted(at, x) - 1, 0, len(at) - 2))
    return values[i] + (x - at[i]) / (at[i + 1] - at[i]) * (values[i + 1] - values[i])


def computed(state: dict) -> dict:
    """Returns the matches of the chosen patch, and the results of the contenders for the chosen number of labels.

    `similar` (4, N) holds the cosine similarities of all patches with the chosen one, and `best` (4,) the best patch of
    each photograph. `labels` is the number of labels, and `accuracy` in % and `seconds` of training (3,) belong to the
    last three contenders, interpolated and extrapolated linearly over its logarithm. The linear head, which was run
    with few images only, keeps its last values.
    """
    kept = stored_tokens()
    unit = F.normalize(torch.from_numpy((kept["tokens"].astype(float) - 128) * kept["steps"]), dim=1)  # (4 * N, 64)
    row, column = state["patch"]
    similar = (unit @ unit[256 * state["photo"] + 16 * row + column]).view(len(PHOTOGRAPHS), -1)  # (4, N)
    count = labels(state["step"])
    accuracy, seconds = [], []
    for name in list(CONTENDERS)[1:]:
        run = runs()[name]
        at = np.log(run["sizes"]).tolist()
        x = float(min(np.log(count), at[-1])) if name == "linear head" else float(np.log(count))
        accuracy.append(along(x, at, run["mean"]))
        seconds.append(float(np.exp(along(x, at, np.log(run["seconds"]).tolist()))))
    return {
        "similar": similar.tolist(),
        "best": similar.argmax(dim=1).tolist(),
        "labels": count,
        "accuracy": accuracy,
        "seconds": seconds,
    }


def still(state: dict) -> tuple[Figure, str]:
    """Draws the four photographs with the patch and its best matches, or the runs, and describes them in words."""
    return pointed(state) if state["part"] == "point" else counted(state)


def pointed(state: dict) -> tuple[Figure, str]:
    """Draws, for `still`, the photographs, dark where a patch is unlike the one that is searched for."""
    found, said = computed(state), []
    fig = Figure(figsize=(8.2, 2.7), layout="constrained")
    for i, (ax, (name, title)) in enumerate(zip(fig.subplots(1, 4), PHOTOGRAPHS.items(), strict=True)):
        ax.imshow(data.open_image(data.photographs()[name].path, 224).permute(1, 2, 0).numpy())
        similar = np.array(found["similar"][i]).reshape(16, 16)
        row, column = state["patch"] if i == state["photo"] else divmod(found["best"][i], 16)
        if i != state["photo"]:
            dark = np.zeros((16, 16, 4))
            dark[..., 3] = 0.75 * (1 - np.clip((similar - 0.3) / 0.6, 0, 1))
            ax.imshow(dark, extent=(-0.5, 223.5, 223.5, -0.5), interpolation="nearest")
            said.append(f"{title} {similar.max():.2f}")
        for colour, width in (("black", 5), ("white", 2.5)):
            ax.add_patch(Rectangle((14 * column - 0.5, 14 * row - 0.5), 14, 14, fill=False, edgecolor=colour, lw=width))
        said_of = "searched for" if i == state["photo"] else f"similarity {similar.max():.2f}"
        ax.set_title(f"{title}\n{said_of}", fontsize=10)
        ax.set(xticks=[], yticks=[])
    asked = list(PHOTOGRAPHS.values())[state["photo"]]
    return fig, (
        f"Four photographs. A frame marks the patch in row {state['patch'][0]}, column {state['patch'][1]} of {asked}, "
        f"and in the others the most similar one: {', '.join(said)}"
    )


def counted(state: dict) -> tuple[Figure, str]:
    """Draws, for `still`, accuracy over the number of labels."""
    found = computed(state)
    fig = Figure(figsize=(8.2, 4.2), layout="constrained")
    ax = fig.subplots()
    for i, (name, run) in enumerate(runs().items()):
        spread = [np.subtract(run["mean"], run["lowest"]), np.subtract(run["highest"], run["mean"])]
        style, colour = ("*", "o-", "s-", "^-")[i], ("#c2410c", "#0072b2", "#00795a", "black")[i]
        ax.errorbar(run["sizes"], run["mean"], spread, fmt=style, color=colour, capsize=4, markersize=8 + 5 * (i == 0))
        end = run["sizes"][-1], run["mean"][-1]
        ax.annotate(name, end, (9, 7 if i in (0, 2) else -4), textcoords="offset points", color=colour)
    ax.axhline(runs()["fine-tuned"]["mean"][0], color="#c2410c", linestyle=":")
    ax.axvline(found["labels"], color="black", linewidth=2)
    ticks = (100, 500, 1000, 5000, 10000, 50000)
    ax.set(xscale="log", xlim=(90, 400_000), ylim=(0, 100), xlabel="labelled images", ylabel="test accuracy (%)")
    ax.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.minorticks_off()
    values = ", ".join(f"{n} {v:.0f} %" for n, v in zip(list(CONTENDERS)[1:], found["accuracy"], strict=True))
    return fig, f"Accuracy over the number of labels for four ways to ten classes. At {found['labels']:,.0f}: {values}"
