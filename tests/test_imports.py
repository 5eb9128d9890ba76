"""Who imports whom, as the layout promises; and what the docstrings of public parts must say."""

import ast
import importlib
import inspect
import pkgutil
import re
import sys

import pytest
from conftest import ROOT, cases, python
from torch import nn

from vit_course.training.objective import Objective

PACKAGE = ROOT / "vit_course"
MODEL = ("config", "patches", "embeddings", "attention", "encoder", "vit")
USED_BY_COMMANDS = (
    "classroom", "data", "explorer", "files", "inputs", "kit", "learner", "live", "plots", "pretrained",
    "explorables", "site", "training",
)  # fmt: skip
MADE_INTO_PAGES = ("explorables", "explorer", "live", "widgets")
# A file or a folder of ours -> the files and folders that it may import; a folder may always import from itself. Where
# a file and its folder are both named on the left, the file's own line counts.
MAY_IMPORT = {
    "inputs": set(),
    "config": {"inputs.rules", "inputs.arguments"},  # no PyTorch: the command line reads it
    "patches": {"inputs"},
    "embeddings": {"inputs"},
    "attention": {"inputs"},
    "encoder": {"attention", "inputs"},
    "vit": {"config", "patches", "embeddings", "encoder", "inputs"},
    "maps": {"inputs"},
    "maps.blocks": {"config"},
    "maps.recording": {"attention", "config", "inputs"},
    "maps.kept": {"attention"},
    "maps.tokens": {"config", "inputs"},
    "maps.controls": {"patches", "inputs"},
    "plots": {"inputs"},
    "data": {"files.stored", "inputs"},
    "files": {"config", "inputs"},
    "files.atomic": set(),
    "learner": {"files.atomic", "files.records", "files.stored"},
    "training": {"data", "files", "inputs"},
    "training.recipe": {"inputs.rules", "inputs.arguments"},
    "training.convnet": {"inputs"},
    "training.features": {"data", "inputs", "vit"},
    "training.masked": {"embeddings", "encoder", "inputs", "patches", "vit"},
    "training.restored": {"files", "pretrained.shipped"},
    "training.self_distilled": {"inputs", "vit"},
    "pretrained": {"config", "data.pictures", "embeddings", "files", "inputs", "maps.recording", "vit"},
    "pretrained.variants": {"attention", "config", "encoder", "inputs", "vit"},
    # Arrays in, something to point at out: they never see a model.
    "widgets": {"files.atomic", "inputs"},
    "explorer": {"plots", "inputs", "maps.tokens", "widgets"},
    "explorer.prepared": {"data.pictures", "inputs", "pretrained", "vit"},
    "explorer.predictions": {"vit"},
    "explorer.changes": {"inputs", "maps.changing", "maps.effects", "maps.in_force", "maps.intervene"},
    # They compute with what the chapters import.
    "explorables": {*MODEL, "data", "files.stored", "inputs", "maps", "plots", "pretrained", "training", "widgets"},
    "explorer.on_model": {"data.pictures", "inputs", "maps.recording", "maps.tokens", "pretrained.hub", "vit"},
    "checks": {*MODEL, "data", "files", "inputs", "maps", "plots", "pretrained", "training"},
    "classroom": {"checks", "files.atomic", "files.stored", "inputs.extras", "inputs.rules"},
    # What runs beside a learner's code, and what it says to the checks: no check is in it.
    "classroom.apart": {"checks.restored", "config", "vit"},
    "live": {
        "data.photographs",
        "explorer.embedded",
        "files.owned",
        "files.stored",
        "widgets.pages",
        "widgets.scripts",
    },
    "live.beforehand": {"data.photographs", "explorer", "maps.recording", "pretrained", "widgets.encoding"},
    "site": {*MADE_INTO_PAGES, "data", "files.owned", "files.stored", "inputs.extras", "pretrained"},
    # It reads the chapters and imports no check.
    "kit": {"classroom.exercises", "files", "site.mathml"},
    "commands": {*MODEL, *USED_BY_COMMANDS},
    "__main__": {"commands"},
    "__init__": set(),
}
TORCH_ONLY = (
    *MODEL, "maps.recording", "maps.others", "maps.calls", "maps.kept", "maps.tokens", "maps.interpret",
    "maps.controls", "maps.changing", "maps.in_force", "maps.blocks", "maps.intervene", "training.convnet",
)  # fmt: skip
WITHOUT_TORCH = (
    "config", "inputs.rules", "inputs.arguments", "inputs.extras", "files.stored", "training.recipe",
    "commands.recipes", "commands.program", "__main__",
)  # fmt: skip
FILES = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}


def entry(module: str) -> str | None:
    """The line of the table that counts for a file."""
    while module and module not in MAY_IMPORT:
        module = module.rpartition(".")[0]
    return module or None


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


def test_every_file_is_in_the_table():
    assert {module for module in FILES if entry(module) is None} == set()
    named = {module for module in MAY_IMPORT if module not in FILES and f"{module}.__init__" not in FILES}
    assert named == set(), "these are in the table and nowhere else"


def test_the_model_is_six_files():
    assert {path.stem for path in PACKAGE.glob("*.py")} == {*MODEL, "__init__", "__main__"}


@pytest.mark.slow
@cases("module", sorted(FILES))
def test_directions(module):
    allowed = {*MAY_IMPORT[entry(module)], module.split(".")[0]}
    found = {name for name in ours(module) if not any(f"{name}.".startswith(f"{one}.") for one in allowed)}
    assert found == set(), f"{module} may not import {found}"


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


@cases("module", TORCH_ONLY)
def test_components_need_torch_alone(module):
    roots = {name.split(".")[0] for name in imported(module)} - sys.stdlib_module_names
    assert roots <= {"torch", "vit_course"}


@pytest.mark.slow
@cases(
    ("modules", "heavy"),
    *(([f"vit_course.{module}"], {"torch"}) for module in WITHOUT_TORCH),
    (["vit_course"], {"torch", "matplotlib", "ipywidgets", "anywidget", "IPython"}),
    (["vit_course.vit", "vit_course.maps", "vit_course.training.loop"], {"matplotlib", "ipywidgets", "IPython"}),
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
        if inspect.isclass(thing) and issubclass(thing, nn.Module) and not re.search(r"\.(checks|apart)\.", name):
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
def test_files_and_functions_stay_readable():
    for name in MODEL:
        assert len(FILES[name].read_text(encoding="utf-8").splitlines()) <= 180, name
    texts = [path for kind in ("py", "js", "css") for path in PACKAGE.rglob(f"*.{kind}")]
    texts += [path for path in (ROOT / "tests").rglob("*.py") if "answers" not in path.parts]  # lists, they too
    assert {path.name for path in texts if path.read_text(encoding="utf-8").count("\n") > 300} == set()
    long = {}
    for module, path in FILES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and lines(node) > 60:
                long[f"{module}.{node.name}"] = lines(node)
    assert long == {}
