"""pyproject.toml, constraints.txt and environment.yml promise the same, and the core alone says what more needs."""

import re
import sys
import tomllib
from functools import cache
from importlib import metadata

import constraints
import pytest
import yaml
from conftest import ROOT, python
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from test_imports import FILES, imported

from vit_course._support.inputs import extras
from vit_course._support.inputs.extras import install_line

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {name: [*map(Requirement, texts)] for name, texts in PROJECT["optional-dependencies"].items()}
ALL = {"": [*map(Requirement, PROJECT["dependencies"])], **EXTRAS}
LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line[0] != "#"]
PINNED = {line.split("==")[0]: re.split("==|;", line)[1] for line in LINES}
IMPORTED_AS = {
    "PIL": "pillow", "sklearn": "scikit-learn", "IPython": "ipywidgets", "nbformat": "jupyterlab",
    "traitlets": "anywidget",
    "nbconvert": "nbgrader", "jinja2": "nbgrader",
    "markdown_it": "markdown-it-py", "mdit_py_plugins": "mdit-py-plugins",
}  # fmt: skip
# What a part of the package may import beside the core, because it is installed with that extra.
EXTRA_OF = {
    **dict.fromkeys(("plots", "training", "commands.training_run"), "train"),
    **dict.fromkeys(("data.cifar10", "data.folder", "data.loading"), "train"),
    **dict.fromkeys(("checks", "commands.lab", "data.digits", "explorer.still"), "course"),
    "explorer.live_page.serving": "course",
    **dict.fromkeys(("explorables", "_support.widgets.still"), "course"),
    "pretrained.published": "pretrained", "pretrained.probing": "course",
    "teaching.classroom": "classroom", "teaching.site": "site", "teaching.kit": "kit",
}  # fmt: skip
# Looked for before they are used, because their models can be recorded without them; or named in annotations alone.
WHERE_THERE = {"explorer.prepared": {"transformers"}, "_support.inputs.class_names": {"timm"},
               "pretrained.published": {"huggingface_hub"},  # which comes with timm and transformers
               "explorer.widget": {"matplotlib"}, "_support.widgets.widget": {"matplotlib"}}  # fmt: skip


def with_all_of(extra: str) -> dict[str, Requirement]:
    """The requirements of an extra, of the extras within it, and of the core."""
    found, wanted = {}, ["", extra]
    while wanted:
        for requirement in ALL[wanted.pop()]:
            if requirement.name == PROJECT["name"]:
                wanted += requirement.extras
            else:
                found[requirement.name] = requirement
    return found


def test_the_constraints_are_within_the_ranges():
    for extra in ALL.keys() - {"extract"}:
        for name, requirement in with_all_of(extra).items():
            assert PINNED[name] in requirement.specifier, f"{name} is {PINNED[name]} in constraints.txt"


@pytest.mark.slow  # and so not in runs with other versions, which the quick tests are for
def test_the_constraints_are_the_versions_of_this_environment():
    pins = [*map(Requirement, LINES)]
    # An early patch release of Python has other versions of these.
    free = {pin.name for pin in pins if pin.marker and not pin.marker.evaluate()}
    installed = {line for line in constraints.lines() if Requirement(line).name not in free}
    assert installed <= set(LINES), "run tests/constraints.py, or install with -c constraints.txt"


def test_every_range_ends_before_the_next_major():
    for extra, requirements in ALL.items():
        for requirement in requirements:
            if requirement.name in (PROJECT["name"], "packaging"):  # the second has years for versions
                continue
            bounds = {spec.operator: Version(spec.version) for spec in requirement.specifier}
            assert bounds.keys() in ({">=", "<"}, {"~="}), f"{requirement} in {extra or 'the core'}"
            if "<" in bounds:
                assert bounds["<"].release == (bounds["<"].major,) and bounds["<"] > bounds[">="]


def test_what_is_installed_is_within_the_ranges():
    for name, requirement in with_all_of("test").items():
        assert requirement.specifier.contains(metadata.version(name), prereleases=True), name


def test_the_tests_install_what_the_course_does():
    inside = {name for one in EXTRAS["test"] if one.name == PROJECT["name"] for name in one.extras}
    assert inside == EXTRAS.keys() - {"test", "extract"}


def test_conda_installs_what_the_readme_does():
    conda = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    (python,) = [text for text in conda if isinstance(text, str) and text.startswith("python=")]
    assert python.removeprefix("python=") in SpecifierSet(PROJECT["requires-python"])
    assert {"pip": ["-c constraints.txt", "-e .[course]"]} in conda and "pip" in conda


def test_the_pythons_of_the_classifiers_are_those_that_are_required():
    named = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)}
    assert named == {f"3.{minor}" for minor in range(30) if f"3.{minor}.1" in SpecifierSet(PROJECT["requires-python"])}


@pytest.mark.slow
def test_the_package_imports_only_what_it_declares():
    for module in FILES:
        extra = next((name for part, name in EXTRA_OF.items() if f"{module}.".startswith(f"{part}.")), "")
        declared = set(with_all_of(extra)) | WHERE_THERE.get(module, set())
        for name in {name.split(".")[0] for name in imported(module)} - {"vit_course"} - sys.stdlib_module_names:
            assert IMPORTED_AS.get(name, name) in declared, f"{module} imports {name}"


@cache
def outside() -> list[str]:
    """Modules that no distribution of the core brings."""
    inside, owners = constraints.needed("") | {constraints.COURSE}, metadata.packages_distributions()
    names = [name for name in owners if inside.isdisjoint(map(canonicalize_name, owners[name])) and name.isidentifier()]
    assert {"torchvision", "matplotlib", "jupyterlab"} <= {*names} and {"torch", "numpy"}.isdisjoint(names)
    return sorted(names)


def alone(code: str):
    """Runs code with the core and nothing else."""
    before = f"""
from importlib.machinery import PathFinder
find, outside = PathFinder.find_spec, {outside()!r}
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in outside else find(name, *more)
"""
    return python("-c", before + code)


WORKS = {
    "records": """
import torch
from vit_course.vit import ViT
from vit_course.config import ViTConfig
from vit_course.maps import record_attention
sizes = dict(hidden_dim=16, num_layers=1, num_heads=2, mlp_dim=32)
model = ViT(ViTConfig(image_size=16, patch_size=4, num_classes=3, **sizes)).eval()
with record_attention(model) as recorded:
    model(torch.randn(1, 3, 16, 16))
print(*recorded.stacked().shape[-2:])
""",
    "explores": """
import tempfile, pathlib
from vit_course import data, pretrained
from vit_course.explorer import explore
real = pretrained.load_run("vit-s14-cifar10")
print(real.top(data.photographs()["cat"].path)[0][0])
explorer = explore(real.model, data.photographs()["cat"].path, preprocess=real.preprocess)
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "page.html")
    explorer.save_html(path)
    print(path.stat().st_size > 100_000)
explorer._ipython_display_()
""",
    "trains": """
from vit_course import data, pretrained
from vit_course.config import ViTConfig
from vit_course.training import TrainingConfig, train
from vit_course.vit import ViT
print(pretrained.load("shapes").config.num_classes)
shapes = data.shapes(image_size=16, num_train=32)
sizes = dict(hidden_dim=16, num_layers=1, num_heads=2, mlp_dim=32)
model = ViT(ViTConfig(image_size=16, patch_size=4, num_classes=len(data.SHAPES), **sizes))
print(len(train(model, shapes, TrainingConfig(epochs=1))))
""",
}


@pytest.mark.slow
def test_the_core_alone(some):
    for name in some(WORKS):
        done = alone(WORKS[name])
        assert done.returncode == 0 and done.stdout, done.stderr


NEEDS = {
    "import os; os.environ['WORLD_SIZE'] = '2'\nimport torch; from vit_course.training.processes import engine_for\n"
    "engine_for(torch.device('cpu'))": ("training in several processes", "accelerate", "train"),
    "from vit_course import plots": ("drawing figures", "matplotlib", "course"),
    "from vit_course import data; data.digits()": ("the set of handwritten digits", "sklearn", "course"),
    "from vit_course import data; data.cifar10('data')": ("CIFAR-10", "torchvision", "course"),
    "from vit_course.training.augmentation import mix_up; mix_up(None, None, None, 1, 2)": (
        "augmentation by RandAugment or mixup", "torchvision", "train",
    ),
    "from vit_course import checks": ("checking exercises", "einops", "course"),
    "import pathlib, vit_course.teaching.site as s; s.build(None, pathlib.Path('x'))": ("the site", "sphinx", "site"),
    "from vit_course.commands.kit import run; run(None)": ("the kit", "sphinx", "kit"),
    "from vit_course.commands.classroom import run_make; run_make(None)": ("a classroom", "nbformat", "classroom"),
    "from vit_course import pretrained; pretrained.load('timm:vit_tiny_patch16_224')": (
        "a model of timm", "timm", "pretrained",
    ),
    "from vit_course import pretrained; pretrained.load_run('hf:google/vit-base-patch16-224')": (
        "a model of Hugging Face", "transformers", "pretrained",
    ),
    "from vit_course import pretrained; pretrained.load_run('torchvision:vit_b_16')": (
        "a model of torchvision", "torchvision", "pretrained",
    ),
}  # fmt: skip


@pytest.mark.slow
def test_what_needs_more_says_what_to_install(some):
    for code in some(NEEDS):
        done = alone(code)
        what, package, name = NEEDS[code]
        last = done.stderr.splitlines()[-1]
        words = f"{what} needs the package {package}, which is not installed. Run: {install_line(name)}"
        assert done.returncode == 1 and last.endswith(words), done.stderr


def test_a_missing_module_of_ours_is_no_missing_package():
    words = r"^No module named 'vit_course\.nothing'"
    with pytest.raises(ModuleNotFoundError, match=words), extras.extra("course", "it"):
        import vit_course.nothing  # noqa: F401


def test_the_extras_are_those_of_the_project():
    assert set(extras.EXTRAS) <= set(metadata.metadata("vit-course").get_all("Provides-Extra"))
    assert install_line("course", "site") == 'python -m pip install -e ".[course,site]"'


@pytest.mark.slow
def test_a_command_says_so_in_one_line_and_makes_nothing(tmp_path):
    code = "import sys; from vit_course.__main__ import main; "
    done = alone(f"{code}sys.exit(main(['lab', '--folder', {str(tmp_path / 'a')!r}]))")
    words = f"error: JupyterLab needs the package jupyterlab, which is not installed. Run: {install_line('course')} "
    assert (done.returncode, done.stderr) == (2, f"{words}(python -m vit_course check says more)\n")
    assert not (tmp_path / "a").exists()
