"""pyproject.toml, constraints.txt and environment.yml promise the same, and what is imported is promised."""

import re
import sys
import tomllib
from importlib import metadata

import constraints
import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from test_imports import FILES, imported

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = {name: [*map(Requirement, texts)] for name, texts in PROJECT["optional-dependencies"].items()}
ALL = {"": [*map(Requirement, PROJECT["dependencies"])], **EXTRAS}
LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line[0] != "#"]
PINNED = {line.split("==")[0]: re.split("==|;", line)[1] for line in LINES}
IMPORTED_AS = {
    "PIL": "pillow", "sklearn": "scikit-learn", "IPython": "ipywidgets", "nbformat": "jupyterlab",
    "traitlets": "anywidget", "huggingface_hub": "huggingface-hub", "fontTools": "fonttools",
    "nbconvert": "nbgrader",
    "markdown_it": "markdown-it-py", "mdit_py_plugins": "mdit-py-plugins",
}  # fmt: skip
# What a part of the package may import beside the core, because it is installed with that extra.
EXTRA_OF = {
    **dict.fromkeys(("plots", "training", "commands.training_run"), "train"),
    **dict.fromkeys(("data.cifar10", "data.folder", "data.loading"), "train"),
    **dict.fromkeys(("checks", "commands.lab", "data.digits", "explorer.still"), "course"),
    **dict.fromkeys(("pretrained.hub", "pretrained.configs", "pretrained.probing"), "course"),
    "classroom": "classroom", "site": "site", "kit": "kit",
}  # fmt: skip
# Looked for before they are used, because their models can be recorded without them; or named in annotations alone.
WHERE_THERE = {"explorer.prepared": {"transformers"}, "explorer.predictions": {"timm"},
               "explorer.widget": {"matplotlib"}}  # fmt: skip


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


def test_the_package_imports_only_what_it_declares():
    for module in FILES:
        extra = next((name for part, name in EXTRA_OF.items() if f"{module}.".startswith(f"{part}.")), "")
        declared = set(with_all_of(extra)) | WHERE_THERE.get(module, set())
        for name in {name.split(".")[0] for name in imported(module)} - {"vit_course"} - sys.stdlib_module_names:
            assert IMPORTED_AS.get(name, name) in declared, f"{module} imports {name}"
