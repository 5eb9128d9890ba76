"""Chapter 07: three stored runs of a small ViT on digits, to be dragged through epoch by epoch."""

from functools import cache

import numpy as np
from matplotlib.figure import Figure

from vit_course._support.files.course_files import stored
from vit_course._support.widgets.encoding import Sections
from vit_course.explorables.explorable import Explorable

RUNS = {"recipe": "the recipe", "high": "rate too high", "few": "few images"}
ABOUT = {
    "recipe": "1,197 training digits at four places each, batches of 128, a learning rate of 0.004 after a warm-up.",
    "high": "The recipe without the warm-up and with a learning rate of 0.4, a hundred times as high.",
    "few": "The recipe with 120 training digits instead of 1,197, in batches of 32.",
}
WITHIN = 1.01  # of the lowest smoothed validation loss: these epochs count as the lowest


def film(**state) -> Explorable:
    """Three training runs of a small ViT on digits at varying places: drag the line on their curves to see each epoch.

    They are the chapter's recipe, the same at 100 times the rate and without warm-up, and the same on 120 training
    digits instead of 1,197; `res/explorables/make_film.py` trained them.

    Args:
        state: `epoch`, from 0, before the first step, to 30; `run`, one of "recipe", "high" and "few", and `beside`, a
            second run to compare with, or "none"; `picture`, the number of the picture, of eight, whose attention map
            is shown; `marks`, the epoch that is marked in each run, 0 for none.

    Raises:
        ValueError: an invalid state.
    """
    run, sections = stored_runs(), Sections()
    sections.floats("log", run["log"])
    for name in ("answers", "shares", "maps", "moved", "images"):
        sections.bytes(name, run[name])
    steps = {"map_step": float(run["map_step"]), "moved_steps": run["moved_steps"].tolist()}
    facts = steps | {"runs": RUNS, "about": ABOUT, "labels": run["labels"].tolist(), "start": float(run["start"])}
    return Explorable("film", facts, still, computed, sections, **state)


@cache
def stored_runs() -> dict[str, np.ndarray]:
    """Loads the stored runs, R runs with E epochs and the state before the first.

    log (R, E + 1, 5) holds training loss, validation loss, rate and the two accuracies; answers (R, E + 1, 8), shares
    (R, E + 1, 8, K), maps (R, E + 1, 8, N) and moved (R, E + 1, 16, P²) hold the predictions, their probabilities, the
    attention maps and the changes of the filters.
    """
    with np.load(stored("explorables/film.npz")) as file:
        return dict(file)


def smooth(values: np.ndarray) -> np.ndarray:
    """(n,) -> (n,): the mean of each value and its neighbours, one at the ends and two elsewhere."""
    return np.array([values[max(0, i - 1) : i + 2].mean() for i in range(len(values))])


def settled(answers: np.ndarray) -> np.ndarray:
    """(E + 1, 8) -> (8,): for each picture, the first epoch from which on its answer is the final one."""
    changes = answers[1:] != answers[:-1]  # (E, 8)
    return np.where(changes.any(axis=0), len(changes) - changes[::-1].argmax(axis=0), 0)


def computed(state: dict) -> dict:
    """Returns the values of an epoch, and where over-fitting begins: at the lowest smoothed validation loss."""
    runs, names, epoch = stored_runs(), list(RUNS), state["epoch"]
    run = names.index(state["run"])
    log, answers = runs["log"][run].astype(float), runs["answers"][run]  # (E + 1, 5), (E + 1, 8)
    smoothed = smooth(log[:, 1])
    lowest = int(smoothed.argmin())
    near = np.flatnonzero(smoothed <= WITHIN * smoothed[lowest])
    shares = runs["shares"][run, epoch][range(8), answers[epoch]]  # (8,)
    moved = (runs["moved"][run, epoch].astype(float) - 128) * float(runs["moved_steps"][run])  # (16, P * P)
    beside = [] if state["beside"] in ("none", state["run"]) else runs["log"][names.index(state["beside"]), epoch]
    return {
        "now": log[epoch].tolist(),
        "gap": log[epoch, 1] - log[epoch, 0],
        "smoothed": smoothed.tolist(),
        "lowest": lowest,
        "near": near.tolist(),
        "rises": smoothed[-1] / smoothed[lowest],
        "answers": answers[epoch].tolist(),
        "probabilities": (shares / 255).tolist(),
        "settles": settled(answers).tolist(),
        "weights": (runs["maps"][run, epoch, state["picture"]] * float(runs["map_step"])).tolist(),
        "moved": float(np.sqrt((moved**2).mean())),
        "beside": [float(value) for value in beside],
    }


def still(state: dict) -> tuple[Figure, str]:
    """Draws the losses of the chosen run with the line at the epoch, and the eight pictures with their answers."""
    runs, found, epoch = stored_runs(), computed(state), state["epoch"]
    log = runs["log"][list(RUNS).index(state["run"])]
    fig = Figure(figsize=(8.2, 4.6), layout="constrained")
    grid = fig.add_gridspec(2, len(runs["labels"]), height_ratios=(5, 2))
    ax, right = fig.add_subplot(grid[0, :]), epoch < 18
    for column, (name, line) in enumerate({"training": "-", "validation": "--"}.items()):
        colour, loss = ("#0072b2", "#c2410c")[column], log[epoch, column]
        ax.plot(log[:, column], line, color=colour)
        ax.plot(epoch, loss, "o", color=colour, markerfacecolor=colour if column == 0 else "white")
        upper = loss > log[epoch, 1 - column] or (column == 0 and loss == log[epoch, 1])
        side = dict(ha="left" if right else "right", va="bottom" if upper else "top", color=colour)
        off = (9 if right else -9, 5 if upper else -5)
        ax.annotate(f"{name} {loss:.2f}", (epoch, loss), off, textcoords="offset points", **side)
    ax.axvline(epoch, color="black", linewidth=2, zorder=0)
    ax.axhline(np.log(10), color="black", linestyle=":", zorder=0)
    ax.annotate("ln 10: guessing", (len(log) - 1 if right else 0.3, np.log(10) + 0.05), ha="right" if right else "left")
    title = f"Run: {RUNS[state['run']]}, epoch {epoch} of {len(log) - 1}"
    ax.set(xlim=(-0.3, len(log) - 0.7), ylim=(-0.25, 3), xlabel="epoch", ylabel="loss", title=title)
    for p, (image, label, answer) in enumerate(zip(runs["images"], runs["labels"], found["answers"], strict=True)):
        ax = fig.add_subplot(grid[1, p])
        ax.imshow(image, cmap="gray")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(visible=answer != label, linewidth=3, linestyle="--", edgecolor="#c2410c")
        ax.set_title(f"{answer}" if answer == label else f"says {answer}, is {label}", fontsize=10)
    right = sum(answer == label for answer, label in zip(found["answers"], runs["labels"], strict=True))
    train, validation = found["now"][:2]
    return fig, (
        f"Loss curves of the run {RUNS[state['run']]!r}: at epoch {epoch} the training loss is {train:.2f} and the "
        f"validation loss {validation:.2f}. Below, eight digits and the model's answers, {right} of them right"
    )
