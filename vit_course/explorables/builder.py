"""Chapter 06: a ViT whose sizes are dragged; its parameters, multiply-adds and memory by part."""

import io
from functools import lru_cache

import torch
from matplotlib.figure import Figure
from PIL import Image
from torch.utils.flop_counter import FlopCounterMode

from vit_course import data
from vit_course._support.widgets.encoding import Sections
from vit_course.attention import EXPLICIT_TOKENS
from vit_course.config import ViTConfig
from vit_course.explorables.explorable import Explorable
from vit_course.vit import ViT

PARTS = (
    "patch embedding",
    "class token, positions",
    "attention, linear layers",
    "attention, products",
    "MLP",
    "norms",
    "head",
)
# By a word in the name of a parameter, the first that fits.
WORDS = {
    "patch_embedding": PARTS[0],
    "class_token": PARTS[1],
    "positions": PARTS[1],
    "attention": PARTS[2],
    "mlp": PARTS[4],
    "norm": PARTS[5],
    "head": PARTS[6],
}
COLOURS = ("#5a5d66", "#5a5d66", "#0072b2", "#a2386f", "#c2410c", "#5a5d66", "#5a5d66")  # as the parts in the page
UNITS = {"parameters": ("M", 1e6), "multiply_adds": ("G", 1e9), "memory": ("GB", 1e9)}
SIZES = ("hidden_dim", "num_layers", "mlp_dim", "patch_size")
BATCH = 32
# Bytes of a parameter in training with AdamW: itself, its gradient and two moments, four each.
BYTES, KEPT = 16, 4


def published() -> dict[str, ViTConfig]:
    """-> the models that are marked, by their names."""
    names = {"Ti/16": "vit-ti/16", "S/16": "vit-s/16", "B/16": "vit-b/16", "L/16": "vit-l/16", "H/14": "vit-h/14"}
    found = {name: ViTConfig.preset(preset) for name, preset in names.items()}
    return found | {"B/32": ViTConfig.preset("vit-b/16", patch_size=32)}


def sizes_of(config: ViTConfig) -> dict[str, int]:
    """-> what a state says of a config, without the size of the image."""
    return {size: getattr(config, size) for size in SIZES}


def builder(**state) -> Explorable:
    """A ViT with 1000 classes whose edges can be dragged; what it has, what it costs and what it takes to train follow.

    Args:
        state: by the names of `ViTConfig`, `hidden_dim`, D, a multiple of 64, in heads of 64 numbers each
            (ViT-H/14 has heads of 80, which changes neither parameters nor multiply-adds);
            `num_layers`, L; `mlp_dim`, M; `patch_size`, P; `image_size`, 224 or 448.

    Raises:
        ValueError: a state that is none.

    Source: Dosovitskiy et al. 2020 (arXiv:2010.11929), Table 1; Touvron et al. 2020 (arXiv:2012.12877), Table 1.
    """
    content, sections = io.BytesIO(), Sections()
    cat = data.open_image(data.photographs()["cat"].path, 224)  # (3, 224, 224)
    Image.fromarray(cat.permute(1, 2, 0).numpy()).save(content, "JPEG", quality=70)
    sections.file("photograph", content.getvalue(), "image/jpeg")
    models = {name: sizes_of(c) for name, c in published().items()}
    return Explorable("builder", {"models": models}, still, computed, sections, **state)


def computed(state: dict) -> dict:
    """-> by part, in the order of `PARTS`: parameters; multiply-adds of one image; bytes that training takes."""
    config = ViTConfig(num_classes=1000, num_heads=state["hidden_dim"] // 64, **state)
    parameters, multiply_adds = counted(config)
    memory = [BYTES * n + KEPT * BATCH * k for n, k in zip(parameters, kept(config), strict=True)]
    found = {"parameters": parameters, "multiply_adds": multiply_adds, "memory": memory}
    same = [name for name, c in published().items() if sizes_of(c) | {"image_size": 224} == state]
    return found | {
        "totals": [sum(values) for values in found.values()],
        "patches": config.num_patches,
        "tokens": config.num_tokens,
        "heads": config.num_heads,
        "model": same[0] if same else "",
    }


@lru_cache(maxsize=64)
def counted(config: ViTConfig) -> tuple[list[int], list[int]]:
    """-> parameters and multiply-adds by part, both counted in a real model of tensors without numbers."""
    with torch.device("meta"):
        model, image = ViT(config), torch.empty(1, config.in_channels, *config.height_width)
    with FlopCounterMode(display=False) as flops:
        model(image)  # (1, K)
    sums = {module: sum(ops.values()) // 2 for module, ops in flops.get_flop_counts().items()}  # two FLOP each
    blocks = [f"ViT.encoder.blocks.{layer}" for layer in range(config.num_layers)]
    linear = sum(sums[f"{block}.attention.{name}"] for block in blocks for name in ("qkv", "projection"))
    attention, mlp = (sum(sums[f"{block}.{name}"] for block in blocks) for name in ("attention", "mlp"))
    embedding, head = sums["ViT.patch_embedding"], sums["ViT.head"]
    parameters = dict.fromkeys(PARTS, 0)
    for name, parameter in model.named_parameters():
        part = next(part for word, part in WORDS.items() if word in name)
        parameters[part] += parameter.numel()
    return list(parameters.values()), [embedding, 0, linear, attention - linear, mlp, 0, head]


def kept(config: ViTConfig) -> list[int]:
    """-> by part, how many numbers the forward pass of one image keeps for the backward pass, on the processor.

    What `saved_tensors_hooks` counts in a `ViT`, a tensor that is kept twice once: the input of every linear layer and
    norm, a norm's mean and deviation, queries, keys and values, the input of GELU. Of the attention weights the open
    way keeps all, and the fused kernel one number for each row.
    """
    tokens, wide, layers = config.num_tokens, config.num_tokens * config.hidden_dim, config.num_layers
    weights = tokens**2 if tokens <= EXPLICIT_TOKENS else tokens
    height, width = config.height_width
    return [
        config.in_channels * height * width,
        0,
        layers * 2 * wide,  # the inputs of the two layers
        layers * (3 * wide + config.num_heads * weights),
        layers * (wide + 2 * tokens * config.mlp_dim),
        (2 * layers + 1) * (wide + 2 * tokens),
        wide,  # the whole output of the last norm, of which the head takes one token
    ]


def still(state: dict) -> tuple[Figure, str]:
    """The three quantities by part, beside the totals of ViT-B/16."""
    found, base = computed(state), computed(sizes_of(published()["B/16"]) | {"image_size": 224})
    fig = Figure(figsize=(8.2, 3.9), layout="constrained")
    title = "D = {hidden_dim}, L = {num_layers}, M = {mlp_dim}, P = {patch_size}, {image_size} px".format(**state)
    fig.suptitle(f"ViT-{found['model']}: {title}" if found["model"] else title)
    said = []
    for index, (ax, (name, (unit, one))) in enumerate(zip(fig.subplots(1, 3, sharey=True), UNITS.items(), strict=True)):
        values, total = found[name], found["totals"][index]
        bars = ax.barh(PARTS, [value / total * 100 for value in values], color=COLOURS)
        ax.bar_label(bars, [f"{value / one:.3g}" for value in values], padding=3, fontsize=9)
        ratio = total / base["totals"][index]
        quantity, largest = name.replace("_", "-"), PARTS[values.index(max(values))]
        said.append(f"{quantity} {total / one:.3g} {unit}, {ratio:.2g} times ViT-B/16, largest part: {largest}")
        heading = f"{quantity}: {total / one:.3g} {unit}\n{ratio:.2g} × ViT-B/16"
        ax.set(title=heading, xlim=(0, 118), xticks=(0, 50, 100), xlabel="percent of the total")
    ax.invert_yaxis()
    return fig, f"Three bar charts by part, for {title}: {'; '.join(said)}"
