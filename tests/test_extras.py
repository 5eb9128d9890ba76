"""The core without any extra: it records, explores and loads; what needs more says what to install."""

import subprocess
import sys
from functools import cache
from importlib import metadata

import constraints
import pytest
from conftest import ROOT
from packaging.utils import canonicalize_name

from vit_course.inputs.extras import EXTRAS, extra, install_line


@cache
def outside() -> list[str]:
    """Modules that no distribution of the core brings."""
    inside, owners = constraints.needed("") | {constraints.COURSE}, metadata.packages_distributions()
    names = [name for name in owners if inside.isdisjoint(map(canonicalize_name, owners[name])) and name.isidentifier()]
    assert {"torchvision", "matplotlib", "jupyterlab"} <= {*names} and {"torch", "numpy"}.isdisjoint(names)
    return sorted(names)


def alone(code: str) -> subprocess.CompletedProcess:
    """Runs code with the core and nothing else."""
    before = f"""
from importlib.machinery import PathFinder
find, outside = PathFinder.find_spec, {outside()!r}
PathFinder.find_spec = lambda name, *more: None if name.partition(".")[0] in outside else find(name, *more)
"""
    return subprocess.run([sys.executable, "-c", before + code], cwd=ROOT, capture_output=True, text=True, check=False)


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
    "from vit_course import checks": ("checking exercises", "einops", "course"),
    "from pathlib import Path; from vit_course.site import build; build(None, Path('no/such'))": (
        "the site", "sphinx", "site",
    ),
    "from vit_course.commands.kit import run; run(None)": ("the kit", "sphinx", "kit"),
    "from vit_course.commands.classroom import run_make; run_make(None)": ("a classroom", "nbformat", "classroom"),
    "from vit_course import pretrained; pretrained.from_pretrained('vit_b_16')": (
        "torchvision's vit_b_16", "torchvision", "course",
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
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'vit_course\.nothing'"), extra("course", "it"):
        import vit_course.nothing  # noqa: F401


def test_the_extras_are_those_of_the_project():
    assert set(EXTRAS) <= set(metadata.metadata("vit-course").get_all("Provides-Extra"))
    assert install_line("course", "site") == 'python -m pip install -e ".[course,site]"'


@pytest.mark.slow
def test_a_command_says_so_in_one_line_and_makes_nothing(tmp_path):
    code = "import sys; from vit_course.__main__ import main; "
    done = alone(f"{code}sys.exit(main(['lab', '--folder', {str(tmp_path / 'a')!r}]))")
    words = f"error: JupyterLab needs the package jupyterlab, which is not installed. Run: {install_line('course')} "
    assert (done.returncode, done.stderr) == (2, f"{words}(python -m vit_course check says more)\n") and not (
        tmp_path / "a"
    ).exists()
