"""The scripts behind chapter 09: scores against scikit-learn's, heads chosen fairly, and a table that is added to."""

import csv
import sys

import published
import pytest
import torch
from conftest import ROOT
from sklearn.metrics import roc_auc_score
from torch import nn

from vit_course import data, pretrained
from vit_course.config import ViTConfig
from vit_course.maps import Tokens
from vit_course.pretrained.bundled import AsTrained
from vit_course.pretrained.pretrained_model import Pretrained
from vit_course.vit import ViT

sys.path.insert(0, str(ROOT / "res" / "evidence"))
import compare
import measures
import scores

SIDE = 3 * published.PATCH
OUTLINED = sum(bool(one.polygons) for one in data.photographs().values())


def small(num_classes=3, pool="cls", side=SIDE) -> ViT:
    config = ViTConfig(
        image_size=(side, side), patch_size=published.PATCH, num_classes=num_classes, hidden_dim=24, num_layers=2,
        num_heads=3, mlp_dim=40, pool=pool,
    )  # fmt: skip
    return ViT(config).eval()


def with_pictures(net: nn.Module, class_names: list[str]) -> Pretrained:
    return Pretrained(net, AsTrained((SIDE, SIDE), (0.5,) * 3, (0.2,) * 3), class_names)


@pytest.fixture
def few(monkeypatch):
    """Fewer shapes, seeds and orders, and a photograph pasted nowhere: a model then takes a second."""
    monkeypatch.setattr(measures, "COUNTS", {True: (7, 5), False: (7, 5)})
    monkeypatch.setattr(measures, "SEEDS", 2)
    monkeypatch.setattr(measures, "ORDERS", 2)
    monkeypatch.setattr(
        compare, "PICTURES", {name: (make, tests[:4]) for name, (make, tests) in compare.PICTURES.items()}
    )


def test_a_score_is_scikit_learns_weighted_by_cover():
    maps = torch.randn(2, 5, 3, 4).mul(2).round()  # (n, heads, rows, columns), with ties
    masks = torch.rand(2, 6, 8) > 0.6
    found = scores.score(maps, masks)
    for map, mask, row in zip(maps, masks, found, strict=True):
        cover = mask.float().unfold(0, 2, 2).unfold(1, 2, 2).mean(dim=(2, 3)).flatten()  # (N,)
        weights = torch.cat([cover, 1 - cover])
        for one, value in zip(map, row, strict=True):
            both = one.flatten().repeat(2)
            expected = roc_auc_score([1] * 12 + [0] * 12, both, sample_weight=weights)
            assert value.item() == pytest.approx(expected, abs=1e-5)


def test_the_head_of_a_picture_is_chosen_without_it():
    found = torch.rand(6, 2, 3)
    chosen = scores.best_on_others(found)
    for picture in range(6):
        others = torch.cat([found[:picture], found[picture + 1 :]]).mean(dim=0).flatten()  # (L * h,)
        assert chosen[picture] == others.argmax()
        changed = found.clone()
        changed[picture] = torch.rand(2, 3) * 100
        assert scores.best_on_others(changed)[picture] == chosen[picture]
    assert torch.equal(measures.fair(found), torch.stack([found[i].flatten()[chosen[i]] for i in range(6)]))


def test_a_planted_head_is_found_in_every_test_that_looks_for_one(monkeypatch):
    masks = torch.zeros(4, 6, 8, dtype=torch.bool)
    for one, (top, left) in zip(masks, [(0, 0), (2, 2), (4, 6), (0, 4)], strict=True):
        one[top : top + 2, left : left + 2] = True  # a whole patch
    images = torch.rand(4, 3, 6, 8) * 0.1 + masks[:, None]
    tokens = Tokens(("class token",), (3, 4))

    def planted(net, images):
        maps = torch.rand(len(images), 2, 3, 13, 13)
        maps[:, 1, 2, 0, 1:] = images.unfold(2, 2, 2).unfold(3, 2, 2).mean(dim=(1, 4, 5)).flatten(1)
        yield maps / maps.sum(dim=-1, keepdim=True), tokens

    monkeypatch.setattr(measures, "recorded", planted)
    monkeypatch.setattr(scores, "recorded", planted)
    case = measures.Case(nn.Linear(2, 2), None, False, tokens, images, masks, 4)
    found = measures.maps_and_controls(case)
    assert torch.equal(found["best head"], torch.ones(4)) and found["rollout"].shape == (4,)
    assert found["best head, random"].shape == (6, 4) and found["best head minus random"].abs().max() < 1e-6
    assert measures.shuffled(case)["shuffled patches"].allclose(torch.ones(4))
    assert measures.relevance(case) == {"relevance": measures.NO_CLASSES}


def test_occlusion_finds_what_counts_in_blocks_over_8_x_8():
    images = torch.ones(2, 3, 20, 30)
    images[0, :, 6:8, 4:6] = 5  # patch (3, 2) of 10 x 15
    for grid, found in (((10, 15), [[2, 2], [2, 3], [3, 2], [3, 3]]), ((5, 5), [[1, 0]])):
        map = scores.occlusion(lambda some: (images - some).sum(dim=(1, 2, 3)), images, grid)
        assert map.shape == (2, *grid) and (map[0] == map[0].max()).nonzero().tolist() == found


@pytest.mark.slow
def test_objects_are_pasted_into_pictures_of_any_size(monkeypatch):
    monkeypatch.setattr(measures, "SEEDS", 2)
    case = measures.on_photographs(*with_pictures(small(), [])[:2], False)
    pictured = []
    class_rows = measures.class_rows
    monkeypatch.setattr(measures, "class_rows", lambda net, images: pictured.append(images) or class_rows(net, images))
    found = measures.pasted(case)
    objects = len(case.images)
    photographs, *versions = pictured[:5]
    assert photographs.shape == (objects, 3, SIDE, SIDE) and {len(one) for one in versions} == {4 * objects}
    assert [*found] == [*measures.TESTS[measures.pasted]]
    for other, name in zip(versions[1:], ("pieces", "texture", "flat"), strict=True):
        changed = (versions[0] != other).any(dim=1).float().mean(dim=(1, 2))  # by what fills the outline alone
        assert changed.min() > 0.02 and changed.max() < 0.35
        assert found[f"pasted {name}"].shape == (objects,) and found[f"pasted {name}, random"].shape == (2, objects)
        difference = found["pasted object"] - found[f"pasted {name}"]
        assert torch.equal(found[f"pasted object minus {name}"], difference)


MODELS = {
    "ours": (lambda: small(), True),
    "ours without a head": (lambda: small(num_classes=0), False),
    "ours without a class token": (lambda: small(pool="mean"), True),
    "timm": (published.timm_vit, True),
    "timm without a head": (lambda: published.timm_vit(class_token=False, global_pool="avg"), True),
    "huggingface": (published.huggingface_vit, True),
    "huggingface without a head": (
        lambda: published.huggingface_vit(published.transformers.ViTModel), False,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MODELS])
def test_models_of_any_library_are_compared(few, name):
    make, classes = MODELS[name]
    net, table = make().eval(), {}
    before = [one.clone() for one in net.parameters()]
    list(compare.compare(name, with_pictures(net, ["a"] * classes), table))
    lines = {key[1:]: line for key, line in table.items()}
    assert {test for _, test in lines} == {each for test in [*measures.TESTS][:4] for each in measures.TESTS[test]}
    assert {line["grid"] for line in lines.values()} == {"3 x 3"}
    for (pictures, test), line in lines.items():
        empty = test in ("relevance", "occlusion, class") and not classes
        assert (line["value"] == "") == empty == (measures.NO_CLASSES in line["note"])
        assert empty or (0 <= abs(float(line["value"])) <= 1 and float(line["error"]) >= 0)
        assert bool(line["spread"]) == (test.endswith(", random") and "shuffled" not in test)
        assert empty or line["objects"] == (OUTLINED if pictures == "photographs" else 5 if "occl" in test else 7)
        assert ("no class token" in line["note"]) == ("token" in name or name == "timm without a head")
    assert all(torch.equal(*two) for two in zip(before, net.parameters(), strict=True))


@pytest.mark.slow
def test_finished_lines_are_kept_and_those_of_other_weights_replaced(few, tmp_path, monkeypatch, capsys):
    made, out = {"one": small(), "two": small(num_classes=0)}, tmp_path / "table.csv"
    monkeypatch.setattr(
        pretrained, "load_run", lambda name: with_pictures(made[name], ["a"] * bool(made[name].config.num_classes))
    )
    assert compare.main(["one", "--out", str(out)]) == 0
    first = out.read_text()
    assert len(capsys.readouterr().out.splitlines()) == 8
    assert compare.main(["one", "--out", str(out)]) == 0
    assert out.read_text() == first and capsys.readouterr().out == ""
    lines = [line for line in csv.reader(first.splitlines()) if line[2] != "relevance"]
    out.write_text("\n".join(",".join(f'"{cell}"' for cell in line) for line in lines) + "\n")
    assert compare.main(["one", "two", "--out", str(out)]) == 0
    assert sum(line.startswith("one, ") for line in capsys.readouterr().out.splitlines()) == 2
    again = out.read_text().splitlines()
    assert sorted(first.splitlines()) == sorted(line for line in again if not line.startswith("two"))
    made["one"] = small()
    assert compare.main(["one", "--out", str(out)]) == 0
    assert len(out.read_text().splitlines()) == len(again) and out.read_text().splitlines() != again


def test_bad_input_is_refused_before_any_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(compare, "compare", lambda *_: pytest.fail("work was done"))
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    for folder in ("a", "b"):
        (tmp_path / folder / "same").mkdir(parents=True)
        for file in ("best.safetensors", "config.json"):
            (tmp_path / folder / "same" / file).symlink_to(ROOT / "res" / "shapes" / file)
    for given, message in (
        (["tiny-cifar", "nothing", "--out", tmp_path / "a.csv"], "there is no checkpoint 'nothing'"),
        ([tmp_path, "--out", tmp_path / "a.csv"], "is a folder without best.safetensors"),
        (["tiny-cifar", "--out", other], "other.csv is no table of this script, whose columns are model, pictures"),
        (["tiny-cifar", "--out", tmp_path], "Is a directory"),
        ([tmp_path / "a" / "same", tmp_path / "b" / "same"], "two models are called 'same'"),
    ):
        assert compare.main([*map(str, given)]) == 2
        said = capsys.readouterr()
        assert message in said.err and said.err.startswith("error: ") and said.out == ""
    assert not (tmp_path / "a.csv").exists() and other.read_text() == "a,b\n1,2\n"
