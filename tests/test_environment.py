"""pyproject.toml and environment.yml promise the same packages, and what is imported is promised."""

import ast
import sys
import tomllib

import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

CONDA_NAMES = {"huggingface-hub": "huggingface_hub", "torch": "pytorch", "matplotlib": "matplotlib-base"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
IMPORTED_AS = {
    "PIL": "pillow", "sklearn": "scikit-learn", "IPython": "ipykernel", "nbformat": "jupyterlab",
    "traitlets": "anywidget", "huggingface_hub": "huggingface-hub", "fontTools": "fonttools",
}  # fmt: skip


def test_both_files_name_the_same_packages_and_versions():
    ours = {r.name: r.specifier for r in map(Requirement, PROJECT["dependencies"])}
    conda = {
        r.name: r.specifier for r in map(Requirement, (d for d in CONDA if isinstance(d, str) and "python=" not in d))
    }
    assert conda.pop("pip") == SpecifierSet("")
    assert conda == {CONDA_NAMES.get(name, name): specifier for name, specifier in ours.items()}
    assert {"pip": ["-e ."]} in CONDA


def test_the_python_of_conda_is_one_of_ours():
    (python,) = [d for d in CONDA if isinstance(d, str) and d.startswith("python=")]
    assert python.removeprefix("python=") in SpecifierSet(PROJECT["requires-python"])
    for version in ("3.11", "3.12", "3.13"):
        assert version in SpecifierSet(PROJECT["requires-python"])


def test_every_dependency_is_pinned_and_installed_as_pinned():
    from importlib.metadata import version

    requirements = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    for requirement in map(Requirement, requirements):
        assert requirement.specifier, f"{requirement.name} has no version"
        assert version(requirement.name) in requirement.specifier


def test_the_package_imports_only_what_it_declares():
    needed = {Requirement(text).name for text in PROJECT["dependencies"]}
    classroom = {Requirement(text).name for text in PROJECT["optional-dependencies"]["classroom"]} | {"nbconvert"}
    site = {Requirement(text).name for text in PROJECT["optional-dependencies"]["site"]}
    for path in sorted((ROOT / "vit_course").rglob("*.py")):
        # Only nbgrader reads the first, so it is there; the others are imported after a look whether theirs is.
        optional = {"grading.py": classroom, "prepared.py": {"transformers"}, "predictions.py": {"timm"}}
        optional |= dict.fromkeys(("build.py", "mathml.py", "font.py"), site)
        declared = needed | optional.get(path.name, set())
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in {module.split(".")[0] for module in modules} - {"vit_course"} - sys.stdlib_module_names:
                assert IMPORTED_AS.get(name, name) in declared, f"{path.name} imports {name}"
