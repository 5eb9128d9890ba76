"""The comparison of stored outputs with fresh ones: what it must find and what it must pass over."""

import io
from functools import cache

import figures
import nbformat
import numpy as np
import pytest
from conftest import ROOT, python
from matplotlib.figure import Figure
from PIL import Image, ImageFilter
from regenerate import regenerate

pytestmark = pytest.mark.slow

DRAWN = dict(label="epoch", lift=0.0, colours="viridis", place=(2, 3), panels=2, tick="0.5", scale=1.0, marker=True)


@cache
def drawn(dpi: int = 72, **changes) -> Image.Image:
    """A curve beside a map over an image, as in chapters 07 and 08."""
    look = DRAWN | changes
    fig = Figure(figsize=(7.2, 2.9), layout="constrained", dpi=dpi)
    axes = fig.subplots(1, look["panels"], squeeze=False)[0]
    x = np.linspace(0, 4, 90)
    axes[0].plot(x, np.exp(-x) + look["lift"], "-", label="train")
    axes[0].plot(x[::9], 0.4 * np.cos(x[::9]), "--o", color="black", label="validation", markersize=4)
    axes[0].set(xlabel=look["label"], ylim=(-0.5, 1.2), yticks=(0, 1), yticklabels=("0", look["tick"]), title="loss")
    axes[0].legend()
    for panel in axes[1:]:
        values = np.random.RandomState(0).rand(6, 9)
        values[look["place"]] = 2
        panel.imshow(np.random.RandomState(1).rand(24, 36), cmap="gray", extent=(0, 9, 6, 0))
        panel.imshow(look["scale"] * values, cmap=look["colours"], alpha=0.7, extent=(0, 9, 6, 0), vmin=0, vmax=2)
        if look["marker"]:
            panel.plot(4.5, 2.5, "s", color="red", markersize=7, fillstyle="none")
    buffer = io.BytesIO()
    fig.savefig(buffer, format="png")
    return Image.open(buffer).convert("RGB")


@pytest.mark.parametrize(
    "change",
    [
        {"label": "epochs"},
        {"label": "epoeh"},
        {"tick": "0.6"},
        {"tick": "0.3"},
        {"tick": "0.8"},
        {"lift": 0.03},
        {"colours": "plasma"},
        {"colours": "viridis_r"},
        {"place": (2, 4)},
        {"panels": 1},
        {"panels": 3},
        {"scale": 0.95},
        {"marker": False},
    ],
)
def test_what_a_reader_sees_is_found(change):
    assert figures.differ(drawn(), drawn(**change)) is not None
    assert figures.differ(drawn(**change), drawn()) is not None


def noisy(picture: Image.Image) -> Image.Image:
    pixels = np.asarray(picture, dtype=int)
    noise = np.random.RandomState(2).randint(-1, 2, pixels.shape)
    return Image.fromarray((pixels + noise).clip(0, 255).astype("uint8"))


def turned(shift: float) -> Image.Image:
    size, moved = drawn().size, (1, 0, shift, 0, 1, -shift)
    return drawn().transform(size, Image.Transform.AFFINE, moved, Image.Resampling.BICUBIC)


@pytest.mark.parametrize(
    "jitter",
    [
        lambda: noisy(drawn()),
        lambda: drawn(lift=1e-3),
        lambda: drawn(lift=6e-3),  # half a pixel
        lambda: drawn(scale=1.01),
        lambda: drawn().filter(ImageFilter.GaussianBlur(0.3)),
        lambda: turned(0.1),
        lambda: drawn().crop((0, 0, drawn().width - 2, drawn().height - 1)),
    ],
)
def test_what_nobody_sees_is_passed_over(jitter):
    assert jitter().tobytes() != drawn().tobytes()
    assert figures.differ(drawn(), jitter()) is None


def test_the_curves_of_a_training_may_drift_and_no_more():
    drifted = drawn(lift=0.06)  # five pixels
    assert figures.differ(drawn(), drifted) is not None
    assert figures.differ(drawn(), drifted, figures.LOOSE) is None
    for change in ({"colours": "plasma"}, {"panels": 1}, {"place": (2, 4)}, {"scale": 0.8}, {"lift": 0.4}):
        assert figures.differ(drawn(), drawn(**change), figures.LOOSE) is not None


def test_another_size_is_named():
    cut = drawn().crop((0, 0, drawn().width, drawn().height - 3))
    assert figures.differ(drawn(), cut) == "518 x 208 pixels are stored, 518 x 205 were drawn"


DRAW = """fig = Figure(figsize=(3, 2))
axes = fig.subplots()
axes.set(xlim=(0, 2), ylim=(0, 4))
axes.plot([0, {}])
for _ in range({}): display(fig, exclude=["text/plain"])"""
SAY = 'print("a line")\nprint("accuracy ≈ {}")'
# What gives the stored outputs of a cell and what gives the fresh ones; tags; the result and what is said of it.
CELLS = [
    (DRAW.format(1, 1), DRAW.format("1.0", 1), [], "passed", None),
    (DRAW.format(1, 1), DRAW.format("1, 3", 1), [], "failed", "levels apart somewhere"),
    (DRAW.format(1, 1), DRAW.format(1, 2), [], "failed", "1 pictures are stored, 2 were drawn"),
    (DRAW.format(1, 2), DRAW.format(1, 0), [], "failed", "2 pictures are stored, 0 were drawn"),
    (DRAW.format(1, 1), DRAW.format("1, 3", 1), [figures.OF_THIS_MACHINE], "passed", None),
    (DRAW.format(1, 1), DRAW.format(1, 2), [figures.OF_THIS_MACHINE], "failed", "2 were drawn"),
    (DRAW.format(1, 1), DRAW.format(1.1, 1), [figures.DRIFTS], "passed", None),
    (DRAW.format(1, 1), DRAW.format("1, 3", 1), [figures.DRIFTS], "failed", "at most 25.0"),
    (SAY.format(0.97), SAY.format(0.95), ["about:0.05"], "passed", None),
    (SAY.format(0.97), SAY.format(0.90), ["about:0.05"], "failed", None),
    (SAY.format(0.97), SAY.format(0.95), [], "failed", None),
]


@pytest.mark.thorough
def test_nbval_compares_by_it(tmp_path):
    """A notebook whose cells are changed after their outputs were stored, and what nbval says of it."""
    path = tmp_path / "07_one.ipynb"
    first = nbformat.v4.new_code_cell("%matplotlib inline\nfrom matplotlib.figure import Figure")
    cells = [nbformat.v4.new_code_cell(stored, metadata={"tags": tags}) for stored, _, tags, _, _ in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=[first, *cells]), path)
    regenerate(path)
    notebook = nbformat.read(path, as_version=4)
    for cell, (_, fresh, *_) in zip(notebook.cells[1:], CELLS, strict=True):
        cell.source = fresh
    nbformat.write(notebook, path)
    options = ["-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, "-p", "no:cacheprovider", "-n", "0"]
    said = python("-m", "pytest", *options, "-v", "--color=no", path).stdout
    for number, (*_, result, words) in enumerate(CELLS, start=1):
        assert f"ipynb::Cell {number} {result.upper()}" in said and (words or "") in said, said
    sheet = figures.FOLDER / "07_one-cell-2-0.png"
    assert "picture 0: they are " in said and f"both are in {sheet}" in said
    with Image.open(sheet) as both:
        assert both.width > 3 * 150
    sheet.unlink()
