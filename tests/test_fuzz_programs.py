"""Drawn arguments for the explorer and the command line: a page, an exit code, or a sentence of ours."""

import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from runs import new_model
from small_run import new_run
from strategies import (
    ANYTHING,
    REFUSED,
    damaged,
    edited,
    fuzz,
    given_by_name,
    is_ours,
    mostly,
    outcome,
    pictures,
    softmaxed,
    tensors,
)

from vit_course.__main__ import main
from vit_course.commands import failures
from vit_course.explorer import AttentionExplorer, explore, upload

pytestmark = pytest.mark.slow
MODEL = new_model().eval()
PICTURES = pictures()
MAPS = tensors(2, 3, 7, 7, make=softmaxed)
IMAGE = tensors(3, 12, 8, make=lambda x: x.sigmoid())
STATE = dict(
    layer=st.integers(0, 1), head=st.integers(0, 2), query=st.integers(0, 6), fixed=st.floats(0.01, 1),
    fusion=st.sampled_from(["head", "mean", "rollout"]), direction=st.sampled_from(["from", "to"]),
    pinned=st.booleans(), key=st.integers(-1, 6), view=st.sampled_from(["attention", "similarity", "colours"]),
)  # fmt: skip
GRID = mostly(st.sampled_from([None, (3, 2), (2, 3), [3, 2]]))


def look_at(explorer):
    if explorer is not REFUSED:
        attention = explorer.attention()
        assert abs(attention.sum() - 1) < 1e-2 or explorer.direction == "to"
        assert isinstance(explorer.figure(), Figure)
        assert "explorer" not in explorer._repr_mimebundle_()[0]["text/plain"]
        explorer.close()


@fuzz(60)
@given(
    MAPS | st.lists(MAPS, max_size=2), IMAGE | st.lists(IMAGE, max_size=2), GRID,
    mostly(st.sampled_from([None, ["a", "b"]])), given_by_name(**STATE),
)  # fmt: skip
def test_drawn_maps_are_explored_or_refused(maps, image, grid, titles, state):
    look_at(outcome(AttentionExplorer, maps, image, grid, titles, **state))


@pytest.mark.filterwarnings("ignore:the image goes to the model in numbers from 0 to 1")
@fuzz(80)
@given(
    mostly(st.just(MODEL)), IMAGE | st.sampled_from(sorted(PICTURES)).map(PICTURES.get), GRID, given_by_name(**STATE),
    st.none() | ANYTHING | st.just(lambda images: images / 2) | tensors(1, 3, 12, 8).map(lambda x: lambda images: x),
)  # fmt: skip
def test_a_drawn_image_is_explored_or_refused(model, image, grid, state, preprocess):
    if model is MODEL or not isinstance(model, torch.nn.Module):
        look_at(outcome(explore, model, image, preprocess, grid, **state))
        button = outcome(upload, model, preprocess, grid)
        assert button is REFUSED or button.explorer is None


# --- the command line


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures and a run."""
    folder = tmp_path_factory.mktemp("commands")
    new_run(folder)
    for name in ("PNG RGB", "JPEG L", "GIF P"):
        (folder / name.replace(" ", ".")).write_bytes(PICTURES[name])
    return folder


@pytest.fixture
def command(tmp_path_factory, monkeypatch, capsys):
    """Runs a command in a new folder; whatever goes wrong in it must be an error of ours."""

    def judged(error, debug):
        # The system's own errors, such as of a name that is too long, are put into words there.
        of_the_system = isinstance(error, OSError) and error.strerror
        if not isinstance(error, (ValueError, OSError)) or not (of_the_system or is_ours(error)):
            raise error
        return real(error, debug)

    def run(*arguments: str) -> int:
        monkeypatch.chdir(tmp_path_factory.mktemp("cwd"))
        try:
            code = main(list(arguments))
        except SystemExit as end:
            code = end.code
        err = capsys.readouterr().err
        assert code in (0, 2) and (code == 0 or "error: " in err), (code, err)
        return code

    real = failures.explain
    monkeypatch.setattr(failures, "explain", judged)
    return run


WORD = st.one_of(
    st.integers(-3, 24).map(str), st.sampled_from(["", ".", "nan", "1e400", "9" * 400, "--", "-1", "cpu", "a\0b", "é"])
)  # fmt: skip


@st.composite
def flags(draw, *names: str) -> list[str]:
    """Some of these flags, with words after them."""
    chosen = draw(st.lists(st.sampled_from(names), max_size=2))
    return [part for name in chosen for part in (f"--{name}", *draw(st.lists(WORD, min_size=1, max_size=1)))]


TOML = {
    "data": {"source": "shapes", "num_train": 6, "num_validation": 3, "num_test": 3, "image_size": 8},
    "model": {"patch_size": 4, "hidden_dim": 8, "num_layers": 1, "num_heads": 2, "mlp_dim": 9},
    "training": {"epochs": 1, "batch_size": 4, "precision": "float32"},
}


def toml(parts) -> str:
    """Nearly what TOML writes as JSON does."""
    lines = []
    for part, values in parts.items() if isinstance(parts, dict) else ():
        if not isinstance(values, dict):
            lines.insert(0, f"{json.dumps(part)} = {json.dumps(values)}")
            continue
        lines += [f"[{part}]", *(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in values.items())]
    return "\n".join(lines)


def is_small(parts) -> bool:
    """Whether the data are drawn in a moment; the usual shapes and other people's data are not."""
    data = parts.get("data") if isinstance(parts, dict) else None
    return isinstance(data, dict) and data.keys() >= TOML["data"].keys() and data["source"] == "shapes"


@fuzz(40)
@given(
    st.one_of(st.just(TOML), edited(TOML)).filter(is_small),
    flags("epochs", "batch-size", "hidden-dim", "num-heads", "learning-rate", "device", "accumulate", "workers", "seed",
          "pool", "dropout", "image-size", "num-train", "out", "precision", "nothing", "resume"),
)  # fmt: skip
def test_train_ends_with_a_sentence(tmp_path_factory, command, parts, more):
    path = tmp_path_factory.mktemp("recipe") / "drawn.toml"
    path.write_bytes(toml(parts).encode("utf-8", "surrogatepass"))
    command("train", "--recipe", str(path), *more)


@fuzz(40)
@given(st.data(), st.sampled_from(["explore", "classify"]))
def test_pictures_are_shown_or_refused(folder, command, data, what):
    names = [str(folder / name) for name in ("PNG.RGB", "JPEG.L", "GIF.P")]
    name = data.draw(st.sampled_from(names) | WORD)
    if data.draw(st.booleans()) and name in names:
        name += ".bad"
        (folder / name).write_bytes(data.draw(damaged(PICTURES["PNG RGB"])))
    weights = data.draw(st.sampled_from([str(folder), str(folder / "best.safetensors"), "shapes"]) | WORD)
    more = data.draw(flags("out", "force", "nothing")) if what == "explore" else []
    command(what, name, "--weights", weights, *more)
