"""Who imports whom, as the layout promises; and what the docstrings of public parts must say."""

import ast
import importlib
import inspect
import pkgutil
import re
import sys

import pytest
from conftest import ROOT, python
from torch import nn

from vit_course.training.objective import Objective

PACKAGE = ROOT / "vit_course"
MODEL = ("config", "patches", "embeddings", "attention", "encoder", "vit")
TORCH_ONLY = (
    *MODEL,
    *(f"maps.{name}" for name in (
        "recording", "call_recording", "attention_calls", "interpret", "controls", "interventions.intervene",
        "interventions.activation_cache", "interventions.logit_attribution", "models.description", "models.token_order",
    )),
    "training.convnet",
)  # fmt: skip
WITHOUT_TORCH = (
    "config", "_support.inputs.rules", "_support.inputs.arguments", "_support.inputs.extras",
    "_support.files.course_files", "training.recipe", "commands.recipes", "commands.program", "__main__",
)  # fmt: skip
FILES = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}


def imported(module: str) -> set[str]:
    """The names of all modules that a file imports, ours with `vit_course.` in front, also within functions."""
    names = set()
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inside = PACKAGE.joinpath(*f"{node.module}.{alias.name}".split(".")[1:])
                is_module = inside.is_dir() or inside.with_suffix(".py").is_file()
                is_ours = is_module and node.module.startswith("vit_course")
                names.add(f"{node.module}.{alias.name}" if is_ours else node.module)
    return names


def ours(module: str) -> set[str]:
    """What a file imports of ours, without `vit_course.`."""
    return {name.removeprefix("vit_course.") for name in imported(module) if name.startswith("vit_course.")}


def test_the_model_is_six_files():
    assert {path.stem for path in PACKAGE.glob("*.py")} == {*MODEL, "__init__", "__main__"}


@pytest.mark.slow
def test_who_imports_whom_is_as_the_contracts_of_pyproject_say():
    done = python("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_there_is_no_circle():
    files = {module.removesuffix(".__init__"): module for module in FILES if module != "__init__"}
    finished: set[str] = set()

    def follow(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, f"a circle: {' -> '.join((*path, module))}"
        if module not in finished and module in files:
            for name in sorted(ours(files[module])):
                follow(name, (*path, module))
            finished.add(module)

    for module in files:
        follow(module, ())
    assert finished == set(files)


@pytest.mark.parametrize("module", TORCH_ONLY)
def test_components_need_torch_alone(module):
    roots = {name.split(".")[0] for name in imported(module)} - sys.stdlib_module_names
    assert roots <= {"torch", "vit_course"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        *(([f"vit_course.{module}"], {"torch"}) for module in WITHOUT_TORCH),
        (["vit_course"], {"torch", "matplotlib", "ipywidgets", "anywidget", "IPython"}),
        (["vit_course.vit", "vit_course.maps", "vit_course.training.loop"], {"matplotlib", "ipywidgets", "IPython"}),
    ],
)
def test_importing_is_light(modules, heavy):
    code = f"import sys, {', '.join(modules)}; print(sorted({heavy} & set(sys.modules)))"
    assert python("-c", code).stdout.strip() == "[]"


LOOK = """
import sys
import torch
from vit_course import maps
from vit_course.vit import ViT, ViTConfig

model = ViT(ViTConfig(image_size=8, patch_size=4, num_classes=3, hidden_dim=8, num_layers=1, num_heads=2, mlp_dim=8))
with torch.no_grad(), maps.intervene(model, [maps.without_head(0, 1)]), maps.record_attention(model) as recorded:
    model(torch.zeros(1, 3, 8, 8))
encoder = torch.nn.TransformerEncoderLayer(8, 2)
with torch.no_grad(), maps.record_attention(encoder):
    encoder(torch.zeros(5, 1, 8))
    unused = sorted({"torch._dynamo", "sympy"} & set(sys.modules))
    compiled = torch.compile(torch.nn.TransformerEncoderLayer(8, 2), backend="eager")  # which imports the compiler
    with maps.record_attention(compiled) as late:
        compiled(torch.zeros(5, 1, 8))
print(unused, tuple(recorded.stacked().shape), tuple(late.by_layer[0][0].shape))
"""


@pytest.mark.slow
def test_looking_into_a_model_does_not_import_the_compiler_and_minds_one_that_comes_later():
    assert python("-c", LOOK).stdout.strip() == "[] (1, 1, 2, 5, 5) (1, 2, 5, 5)"


def public():
    for info in pkgutil.walk_packages([str(PACKAGE)], "vit_course."):
        if info.name == "vit_course.__main__":
            continue
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            ours = getattr(thing, "__module__", "") == module.__name__ and not name.startswith("_")
            if ours and (inspect.isfunction(thing) or inspect.isclass(thing)):
                yield f"{info.name}.{name}", thing


def test_public_parts_have_docstrings():
    short = [name for name, thing in public() if len(inspect.getdoc(thing) or "") <= 30]
    assert short == []


def test_modules_open_with_their_shapes_and_name_their_source():
    for name, thing in public():
        if inspect.isclass(thing) and issubclass(thing, nn.Module) and not re.search(r"\.checks\.", name):
            doc = inspect.getdoc(thing)
            if issubclass(thing, Objective):  # they give a loss, and ask for more than images
                assert re.match(r"\(B, C, H, W\), .+ -> \(\)", doc), name
            else:
                assert re.match(r"\(B, [\w, ]+\) -> \(B, [\w +,]+\)", doc), name
            if thing is Objective:
                continue
            assert "Args:" in doc and re.search(r"Source: .+\d{4}", doc), name


def lines(node: ast.AST) -> int:
    """How long a function is, its docstring apart."""
    first, has_doc = node.body[0], ast.get_docstring(node) is not None
    return node.end_lineno - node.lineno + 1 - (first.end_lineno - first.lineno + 1 if has_doc else 0)


@pytest.mark.slow
def test_the_models_files_and_all_functions_stay_readable():
    for name in MODEL:
        assert len(FILES[name].read_text(encoding="utf-8").splitlines()) <= 180, name
    long = {}
    for module, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and lines(node) > 60:
                long[f"{module}.{node.name}"] = lines(node)
    assert long == {}
