"""The annotations of what other code may rely on: checked here, and of use to whoever checks code of their own."""

import ast
import importlib
import tomllib

import pytest
from conftest import ROOT, python

pytestmark = pytest.mark.thorough

CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]
PACKAGES = ("maps", "pretrained", "explorer")
MODEL = ("config", "patches", "embeddings", "attention", "encoder", "vit")
RIGHT = """
import torch

from vit_course.config import ViTConfig
from vit_course.explorer import AttentionExplorer, explore
from vit_course.maps import interpret, record_attention
from vit_course.pretrained import first_difference, load_run
from vit_course.vit import ViT

model = ViT(ViTConfig.preset("tiny-cifar"))
images = torch.zeros(2, 3, *model.config.height_width)
with record_attention(model) as recorded:
    logits: torch.Tensor = model(images)
maps: torch.Tensor = recorded.stacked()
rows, columns = recorded.tokens().grid
rolled: torch.Tensor = interpret.rollout(maps)
first: torch.Tensor = recorded.by_layer[0][0]
whole, preprocess, class_names = load_run("torchvision:vit_b_16", image_size=(384, 384))
given: torch.Tensor = preprocess("cat.jpg")
word, probability = load_run("vit-s14-cifar10").top("cat.jpg", count=1)[0]
explorer: AttentionExplorer = explore(model, images[0], grid=(8, 8), layer=3)
explorer.save_html("maps.html", overwrite=True)
agreeing: int = first_difference(model, whole, images).agreeing
"""
# A wrong line each, and the kind of error that a checker must find there: what is none is said to be an unused comment.
WRONG = {
    "ViTConfig.preset(3)": "arg-type",
    "ViT(3)": "arg-type",
    "record_attention(images)": "arg-type",
    "rolled.upper()": "attr-defined",
    'load_run("torchvision:vit_b_16", image_sizes=3)': "call-arg",
    "explore(model, images[0], grid=8)": "arg-type",
    'number: int = load_run("shapes").top("cat.jpg")': "assignment",
    "explorer.save_html(3)": "arg-type",
}


def public() -> set[str]:
    """The files in which the public names are defined."""
    files = {"vit_course/__init__.py", *(f"vit_course/{name}.py" for name in MODEL)}
    for package in PACKAGES:
        module = importlib.import_module(f"vit_course.{package}")
        files.add(f"vit_course/{package}/__init__.py")
        for name in module.__all__:
            value = getattr(module, name)
            places = value.__name__ if hasattr(value, "__path__") or hasattr(value, "__file__") else value.__module__
            files.add(f"{places.replace('.', '/')}.py")
    return files


def test_the_files_of_all_public_names_are_checked():
    assert public() == set(CONFIG["files"])
    assert CONFIG["disallow_untyped_defs"] and CONFIG["warn_unused_ignores"]


def test_nothing_is_left_out_without_a_word():
    for name in CONFIG["files"]:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "type: ignore" not in text and "mypy:" not in text and "no_type_check" not in text, name
        assert not [node for node in ast.walk(ast.parse(text)) if getattr(node, "id", "") == "cast"], name


@pytest.mark.slow
def test_the_annotations_agree_with_the_code(tmp_path):
    done = python("-m", "mypy", "--cache-dir", tmp_path)
    assert done.returncode == 0 and f"in {len(CONFIG['files'])} source files" in done.stdout, done.stdout


@pytest.mark.slow
def test_the_kept_answers_are_read_without_annotations(tmp_path):
    # What learners do is allowed: other layers in place of those of a base class, and lists that start empty.
    allowed = ("assignment", "valid-type", "misc", "var-annotated")
    options = ["--check-untyped-defs", "--ignore-missing-imports", "--follow-imports", "silent"]
    options += [word for code in allowed for word in ("--disable-error-code", code)]
    done = python("-m", "mypy", "--config-file", "", *options, "--cache-dir", tmp_path, "answers", cwd=ROOT / "tests")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_code_of_others_is_checked_against_them(tmp_path):
    # Outside the checkout, with no configuration of ours and no path to it: what is installed is what is read.
    wrong = [f"{line}  # type: ignore[{kind}]\n" for line, kind in WRONG.items()]
    (tmp_path / "mine.py").write_text(RIGHT + "".join(wrong))
    # Whoever has one of those that bring no annotations says so in a configuration of their own.
    options = ("--config-file", "", "--warn-unused-ignores", "--cache-dir", tmp_path / "cache")
    done = python("-m", "mypy", *options, "mine.py", cwd=tmp_path)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert errors == [] and not done.stderr, done.stdout
