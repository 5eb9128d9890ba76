"""`python -m vit_course classify`."""

import json
import re

import pytest
import timm
import torch
from conftest import ROOT, cases
from matplotlib.cbook import get_sample_data
from PIL import Image
from torchvision.models import VisionTransformer, ViT_B_16_Weights

from vit_course import data, pretrained
from vit_course.__main__ import main

pytestmark = pytest.mark.slow

HOPPER = str(get_sample_data("grace_hopper.jpg", asfileobj=False))


@pytest.fixture(autouse=True)
def no_network(monkeypatch, tmp_path):
    """Nothing is in the cache of torch.hub, and nobody answers."""
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "torch"))
    monkeypatch.setattr(ViT_B_16_Weights.IMAGENET1K_V1.value, "url", "http://127.0.0.1:9/vit_b_16-c867db91.pth")


def table(text: str) -> list[tuple[str, float]]:
    """The lines of a printed table -> (name, probability) each."""
    _, *lines = (line for line in text.splitlines() if not line.startswith("It knows"))
    assert all(re.fullmatch(r" {1,3}\d+\.\d%  \S.*", line) and line.index("%") == 6 for line in lines)
    return [(line[9:], float(line[:6]) / 100) for line in lines]


def test_the_ten_words_by_default(capsys):
    assert main(["classify", HOPPER]) == 0
    out = capsys.readouterr().out
    words = "airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck"
    assert out.startswith(f"{HOPPER}, as vit-s14-cifar10 sees it:\n")
    assert out.endswith(f"It knows 10 words: {words}.\n")
    expected = pretrained.load_run("vit-s14-cifar10").top(HOPPER)
    rows = table(out[: out.index("It knows")])
    assert [name for name, _ in rows] == [name for name, _ in expected]
    assert [p for _, p in rows] == pytest.approx([p for _, p in expected], abs=6e-4)


def test_torchvision_by_name(tmp_path, capsys):
    theirs = VisionTransformer(image_size=224, patch_size=56, num_layers=1, num_heads=12, hidden_dim=768, mlp_dim=16)
    for parameter in theirs.eval().parameters():
        torch.nn.init.normal_(parameter, std=0.05)
    cache = tmp_path / "torch" / "checkpoints"
    cache.mkdir(parents=True)
    torch.save(theirs.state_dict(), cache / "vit_b_16-c867db91.pth")
    assert main(["classify", HOPPER, "--weights", "vit_b_16"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{HOPPER}, as vit_b_16 sees it:\n")
    weights = ViT_B_16_Weights.IMAGENET1K_V1
    with torch.no_grad():
        best = theirs(weights.transforms()(Image.open(HOPPER))[None]).softmax(dim=1)[0].topk(5)
    assert [name for name, _ in table(out)] == [weights.meta["categories"][i] for i in best.indices]
    assert [p for _, p in table(out)] == pytest.approx(best.values.tolist(), abs=6e-4)


def test_a_folder_that_timm_saved(tmp_path, capsys):
    names = ["cat", "dog", "a very long name of a class, with a comma"]
    model = timm.create_model(
        "vit_tiny_patch16_224", img_size=32, patch_size=8, embed_dim=36, depth=1, num_heads=3, num_classes=3
    )
    timm.models.save_for_hf(model, tmp_path, model_config={"label_names": names}, safe_serialization=True)
    assert main(["classify", HOPPER, "--weights", str(tmp_path)]) == 0
    rows = table(capsys.readouterr().out)
    assert {name for name, _ in rows} == set(names) and sum(p for _, p in rows) == pytest.approx(1, abs=2e-3)
    assert [p for _, p in rows] == sorted((p for _, p in rows), reverse=True)


def test_the_checkpoint_of_the_course(tmp_path, capsys):
    dataset = data.shapes(num_train=1, num_validation=1, num_test=20)
    model, statistics = pretrained.load("shapes"), data.shapes()
    for i in (0, 3):
        picture = dataset.test.images[i]
        path = tmp_path / f"{i}.png"
        Image.fromarray(picture.permute(1, 2, 0).numpy()).save(path)
        assert main(["classify", str(path), "--weights", "shapes"]) == 0
        rows = table(capsys.readouterr().out)
        assert rows[0][0] == data.SHAPES[dataset.test.labels[i]] and len(rows) == 5
        with torch.no_grad():
            probabilities = model(statistics.normalise(picture[None])).softmax(dim=1)[0]
        expected = dict(zip(data.SHAPES, probabilities.tolist(), strict=True))
        assert {name: p for name, p in rows} == pytest.approx(expected, abs=6e-4)


def test_a_run_of_the_learner(tmp_path, capsys):
    run = tmp_path / "run"
    quick = ["--epochs", "1", "--hidden-dim", "8", "--num-layers", "1", "--num-heads", "2", "--mlp-dim", "8"]
    assert main(["train", "--data", "digits", *quick, "--out", str(run)]) == 0
    capsys.readouterr()
    outputs = []
    for weights in (run / "best.safetensors", run):
        assert main(["classify", HOPPER, "--weights", str(weights)]) == 0
        outputs.append(table(capsys.readouterr().out))
    assert outputs[0] == outputs[1] and len(outputs[0]) == 5 and {name for name, _ in outputs[0]} <= set("0123456789")
    (run / "config.json").unlink()
    assert main(["classify", HOPPER, "--weights", str(run)]) == 2
    assert "config.json that says on what" in capsys.readouterr().err


@cases(
    ("arguments", "message"),
    [
        (["none.png"], "there is no file none.png"),
        (["README.md"], "README.md is no readable image"),
        (["none.png", "--weights", "shapes"], "there is no file none.png"),
        (["res/screenshot.png", "--weights", "vit_b_16"], "is not in the cache"),
        (["res/screenshot.png", "--weights", "nothing"], "there is no folder 'nothing', and it is no name of"),
        (["res/screenshot.png", "--weights", "res"], "res: there is no config.json"),
        (["res/screenshot.png", "--weights", "none.safetensors"], "there is no checkpoint 'none.safetensors'"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments, message, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    assert main(["classify", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and error.startswith("error: ") and error.count("\n") == 1


def test_a_config_that_is_not_ours_beside_weights(tmp_path, capsys):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "swin", "architectures": ["SwinModel"]}))
    assert main(["classify", HOPPER, "--weights", str(tmp_path)]) == 2
    assert "this is a SwinModel" in capsys.readouterr().err
