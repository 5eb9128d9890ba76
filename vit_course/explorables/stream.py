"""Chapter 05: the residual stream through the small ViT, drawn as a river, with a valve on each branch."""

from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from matplotlib.figure import Figure

from vit_course._support.files.course_files import stored
from vit_course._support.widgets.encoding import Sections
from vit_course.explorables.explorable import Explorable
from vit_course.explorables.tiny_vit import CROPPED, described, exact, halves, image, pixels, tiny_vit, walk

PHOTOGRAPHS = ("cat", "rocket", "coffee")
BRANCHES = ("attention", "MLP")
OPEN = [["open", "open"]] * 4
# The valves of the still picture, unless the reader has turned some: not those that answer the chapter's question.
SHOWN = [["closed", "open"], *OPEN[1:]]


def stream(**state) -> Explorable:
    """The tokens of a photograph flow through four blocks; each branch can be closed, or replaced by its mean.

    The model is `tiny-cifar`, its weights rounded to half precision. The mean of a branch is that of its output over
    the 10,000 test images of CIFAR-10, for each token; `res/explorables/make_stream.py` has computed them, and nothing
    else of the images is stored.

    Args:
        state: `valves`, for each of the four blocks those of attention and MLP: "open", "mean" or "closed";
            `photograph`, "cat", "rocket" or "coffee".

    Raises:
        ValueError: an invalid state.

    Source: Dosovitskiy et al. 2020 (arXiv:2010.11929), Eq. 2 and 3.
    """
    sections = Sections()
    facts = {"config": described(sections), "photographs": list(PHOTOGRAPHS), "cropped": CROPPED}
    halves(sections, "means", means())
    sections.bytes("pixels", pixels(PHOTOGRAPHS).numpy())
    centres, directions = zip(*map(colours, PHOTOGRAPHS), strict=True)
    halves(sections, "centres", torch.stack(centres))
    halves(sections, "directions", torch.stack(directions))
    return Explorable("stream", facts, still, computed, sections, **state)


@cache
def means() -> torch.Tensor:
    """Returns the mean outputs of the branches (2L, T, D): attention and MLP of block 0, then of block 1, and so on."""
    with np.load(stored("explorables/stream.npz")) as file:
        return torch.from_numpy(file["means"]).double()


def flow(photograph: str, valves: list[list[str]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the stream before, between and after the branches (2L + 1, T, D), and what they add (2L, T, D)."""

    def branch(layer: int, kind: str, output: torch.Tensor) -> torch.Tensor:
        part = int(kind == "mlp")
        valve = valves[layer][part]
        return output if valve == "open" else means()[None, 2 * layer + part] * (valve == "mean")

    seen, added = walk(image(pixels(PHOTOGRAPHS)[PHOTOGRAPHS.index(photograph)]), branch)
    return seen[:, 0], added[:, 0]


@cache
def colours(photograph: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the means of the patch tokens with all valves open, and their main directions of variation.

    The means (L + 1, D) are those before the first block and after each; the directions (3, D) are principal
    components. As in the chapter's `token_colours`, but for all blocks at once, so that a colour means the same in each
    of them; in half precision, as in the page.
    """
    tokens = F.normalize(flow(photograph, OPEN)[0][::2, 1:], dim=-1)  # (L + 1, N, D)
    centres = tokens.mean(dim=1)
    main = torch.linalg.svd((tokens - centres[:, None]).flatten(0, 1), full_matrices=False).Vh[:3]
    main = main * main.gather(1, main.abs().argmax(dim=1, keepdim=True)).sign()
    return centres.half(), main.half()


@torch.no_grad()
def computed(state: dict) -> dict:
    """Returns the logits and probabilities (K), the lengths and the colours of the tokens of a state.

    `lengths` (2L + 1) are the mean lengths of the tokens in the stream, `added` (2L) those of what the branches add;
    `colours` (L + 1, N, 3), from 0 to 1, belong to the patch tokens before the first block and after each.
    """
    model, (seen, added) = exact(), flow(state["photograph"], state["valves"])
    logits = model.head(model.encoder.norm(seen[-1, 0]))
    centres, main = (values.double() for values in colours(state["photograph"]))
    apart = F.normalize(seen[::2, 1:], dim=-1) - centres[:, None]  # (L + 1, N, D)
    return {
        "logits": logits.tolist(),
        "probabilities": logits.softmax(dim=0).tolist(),
        "lengths": seen.norm(dim=-1).mean(dim=1).tolist(),
        "added": added.norm(dim=-1).mean(dim=1).tolist(),
        "colours": (0.5 + apart @ main.T / 0.9).clip(0, 1).tolist(),
    }


def still(state: dict) -> tuple[Figure, str]:
    """Draws the tokens' colours and the logits with all valves open, and in a state (`SHOWN` if that has all open)."""
    valves = SHOWN if state["valves"] == OPEN else state["valves"]
    turned = [
        f"{name} {layer} {valve if valve == 'closed' else 'replaced by its mean'}"
        for layer, of_block in enumerate(valves)
        for name, valve in zip(BRANCHES, of_block, strict=True)
        if valve != "open"
    ]
    rows = {
        "all valves open": computed(state | {"valves": OPEN}),
        ", ".join(turned): computed(state | {"valves": valves}),
    }
    names = tiny_vit().class_names
    fig = Figure(figsize=(8.2, 4.2), layout="constrained")
    left, right = fig.subfigures(1, 2, width_ratios=(3, 2))
    axes, said, legend = left.subplots(2, 5), [], []
    for row, (title, found) in zip(axes, rows.items(), strict=True):
        word = int(np.argmax(found["probabilities"]))
        said.append(f"with {title} the model says {names[word]}, {found['probabilities'][word]:.0%}")
        legend.append(f"{title}: {names[word]}, {found['probabilities'][word]:.0%}")
        for stage, (ax, tokens) in enumerate(zip(row, found["colours"], strict=True)):
            ax.imshow(np.reshape(tokens, (8, 8, 3)))
            ax.set(xticks=[], yticks=[], title=f"block {stage - 1}" if stage else "input")
            ax.set_xlabel(f"length {found['lengths'][2 * stage]:.1f}", fontsize=8)
        row[0].set_ylabel(title.replace(", ", "\n"), fontsize=8)
    ax = right.subplots()
    for shift, hatch, title, found in zip((-0.2, 0.2), ("", "///"), legend, rows.values(), strict=True):
        places = np.arange(len(names)) + shift
        ax.barh(places, found["logits"], 0.38, label=title, hatch=hatch, edgecolor="white")
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel("logit")
    ax.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.4, 1))
    return (
        fig,
        f"The patch tokens of the {state['photograph']} photograph as colours, and ten logits: {'; '.join(said)}",
    )
