"""The ingredients of res/ablation/parts.py, each against what its paper says, and the runs that make the table."""

import itertools
import math
import sys
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from conftest import ROOT
from torch import nn

from vit_course import data
from vit_course.vit import ViT

sys.path.insert(0, str(ROOT / "res" / "ablation"))
import parts

IMAGES = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def one_thread():
    """For models this small, a second thread costs more than it brings."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def changed(variant: str) -> parts.Changed:
    data.seed_everything(0)
    return parts.Changed(parts.VARIANTS[variant])


def queries_and_keys(model: ViT, images: torch.Tensor = IMAGES) -> tuple[torch.Tensor, torch.Tensor]:
    """-> (B, h, T, d) both, of the first block"""
    block = model.encoder.blocks[0]
    attention = block.attention[0] if isinstance(block.attention, nn.Sequential) else block.attention
    return attention.split_heads(block.norm1(model.embed(images)))[:2]


def test_the_plain_variant_and_layer_scale_at_1_are_the_courses_own_model():
    plain, scaled = changed("plain"), changed("LayerScale")
    own = ViT(plain.config)
    own.load_state_dict(plain.state_dict())
    torch.testing.assert_close(plain(IMAGES), own(IMAGES))
    weights = plain.state_dict()
    for block in scaled.encoder.blocks:
        for branch in (block.attention, block.mlp):
            assert branch[1].scale.tolist() == pytest.approx([0.1] * 48)
            nn.init.ones_(branch[1].scale)
    with torch.no_grad():
        for name, weight in scaled.named_parameters():
            if not name.endswith("scale"):
                weight.copy_(weights[name.replace("attention.0.", "attention.").replace("mlp.0.", "mlp.")])
    torch.testing.assert_close(scaled(IMAGES), plain(IMAGES))


def test_layer_scale_multiplies_each_channel_of_a_branch():
    scale = parts.LayerScale(3)
    torch.testing.assert_close(scale(torch.tensor([[[1.0, 2.0, -3.0]]])), torch.tensor([[[0.1, 0.2, -0.3]]]))


def test_rotary_scores_depend_on_differences_of_places_alone():
    rows, columns = 3, 5
    turn = parts.Rotary((rows, columns), head_dim=12, prefix=2)
    q, k = (torch.randn(1, 4, 1, 12).expand(-1, -1, 2 + rows * columns, -1) for _ in range(2))
    scores = (turn(q) @ turn(k).transpose(-2, -1))[0]  # (h, T, T)
    seen = {}
    for one in range(rows * columns):
        for other in range(rows * columns):
            apart = (one // columns - other // columns, one % columns - other % columns)
            seen.setdefault(apart, []).append(scores[:, 2 + one, 2 + other])
    assert len(seen) == (2 * rows - 1) * (2 * columns - 1)
    for same in seen.values():
        torch.testing.assert_close(torch.stack(same), same[0].expand(len(same), -1))
    firsts = torch.stack([same[0] for same in seen.values()])  # every difference has a score of its own
    assert torch.pdist(firsts).min() > 1e-3
    torch.testing.assert_close(turn(q)[:, :, :2], q[:, :, :2])  # neither a class token nor a register has a place
    torch.testing.assert_close(turn(q).norm(dim=-1), q.norm(dim=-1))


def test_rotary_turns_pairs_by_the_angles_of_the_papers():
    turn = parts.Rotary((3, 5), head_dim=12, prefix=1)
    x = torch.randn(2, 4, 16, 12)
    found = turn(x)
    for row, column, pair in [(0, 1, 3), (2, 4, 0), (1, 3, 5), (2, 2, 1)]:
        place = row if pair < 3 else column
        angle = place * 100 ** -((pair % 3) / 3)
        a, b = x[:, :, 1 + 5 * row + column, 2 * pair : 2 * pair + 2].unbind(-1)
        expected = [a * math.cos(angle) - b * math.sin(angle), a * math.sin(angle) + b * math.cos(angle)]
        torch.testing.assert_close(
            found[:, :, 1 + 5 * row + column, 2 * pair : 2 * pair + 2], torch.stack(expected, -1)
        )


def test_qk_norm_bounds_the_scores_however_large_the_weights_are():
    normed, plain = changed("QK-norm"), changed("plain")
    for model in (normed, plain):
        for block in model.encoder.blocks:
            block.attention.qkv.weight.data *= 100
    q, k = queries_and_keys(normed)
    limit = math.sqrt(12)  # |q| |k| / sqrt(d), where both have the length sqrt(d)
    assert (q @ k.transpose(-2, -1)).abs().max() / math.sqrt(12) <= limit + 1e-4
    q, k = queries_and_keys(plain)
    assert (q @ k.transpose(-2, -1)).abs().max() / math.sqrt(12) > 10 * limit


def test_swiglu_is_the_formula():
    mlp = parts.SwiGLU(4, 3).double()
    x = torch.randn(2, 5, 4, dtype=torch.double)
    gate = x @ mlp.gate.weight.T + mlp.gate.bias
    through = gate / (1 + (-gate).exp()) * (x @ mlp.expand.weight.T + mlp.expand.bias)
    torch.testing.assert_close(mlp(x), through @ mlp.contract.weight.T + mlp.contract.bias)


def test_registers_have_no_position_and_the_other_tokens_are_as_before():
    plain, model = changed("plain"), changed("registers")
    model.load_state_dict(plain.state_dict(), strict=False)
    z, before = model.embed(IMAGES), plain.embed(IMAGES)  # (B, T, D)
    assert z.shape == (2, 1 + 4 + 64, 48)
    assert torch.equal(z[:, 1:5], model.registers.tokens.expand(2, -1, -1))
    assert torch.equal(torch.cat([z[:, :1], z[:, 5:]], dim=1), before)


def test_with_rotary_positions_and_no_table_the_order_of_the_patches_still_counts():
    model = changed("RoPE").eval()
    assert not any("position" in name for name, _ in model.named_parameters())
    assert not torch.allclose(model(IMAGES), model(IMAGES.flip(-1).contiguous()), atol=1e-4)
    cut = IMAGES.unflatten(3, (8, 4)).flip(3).flatten(3)  # the columns of patches in reverse, each as it was
    z, turned = model.embed(IMAGES), model.embed(cut)
    torch.testing.assert_close(z[:, 1:].unflatten(1, (8, 8)).flip(2).flatten(1, 2), turned[:, 1:])
    assert not torch.allclose(model(IMAGES), model(cut), atol=1e-4)


@pytest.mark.parametrize("variant", parts.VARIANTS)
def test_parameters_are_equal_to_within_1_percent_and_each_learns(variant):
    model = changed(variant)
    count = sum(p.numel() for p in model.parameters())
    assert abs(count / 119_194 - 1) < 0.01
    found = {part for part in parts.VARIANTS["all five"].parts if part in parts_of(model)}
    assert found == set(parts.VARIANTS[variant].parts)
    for name, weight in model.named_parameters():
        assert name.endswith("bias") or weight.count_nonzero() == weight.numel(), name
    F.cross_entropy(model(IMAGES), torch.arange(2)).backward()
    for name, weight in model.named_parameters():
        assert weight.grad is not None and weight.grad.norm() > 0, name


def parts_of(model: nn.Module) -> set[str]:
    """-> the ingredients in it, by what it is made of"""
    kinds = {"RoPE": parts.Rotary, "QK-norm": parts.QKNorm, "SwiGLU": parts.SwiGLU, "LayerScale": parts.LayerScale}
    found = {name for name, kind in kinds.items() if sum(isinstance(m, kind) for m in model.modules()) >= 4}
    return found | ({"registers"} if model.config.num_registers else set())


@pytest.mark.slow
def test_the_table_is_added_to_and_what_is_there_is_not_run_again(tmp_path, monkeypatch, capsys):
    small = data.shapes(12, 6, 6, image_size=32)
    cifar = replace(small, class_names=[f"class {i}" for i in range(10)])
    monkeypatch.setattr(parts.data, "cifar10", lambda folder: cifar)
    monkeypatch.setattr(parts, "TABLE", tmp_path / "parts.csv")
    monkeypatch.setattr(parts, "RECIPE", replace(parts.RECIPE, epochs=1, batch_size=6))
    monkeypatch.setattr(parts, "step_ratio", lambda variant: 1.0)
    monkeypatch.setattr(parts, "SEEDS", 1)
    parts.train_missing(tmp_path, ["RoPE"])
    first = parts.read()
    parts.train_missing(tmp_path, ["plain", "RoPE"])
    rows = parts.read()
    assert rows[2:] == first  # to the second of processor time
    assert [(row["variant"], row["learning_rate"]) for row in rows] == [
        ("plain", 0.003), ("plain", 0.006), ("RoPE", 0.003), ("RoPE", 0.006),
    ]  # fmt: skip
    assert rows[0]["parameters"] == 119_194 and rows[0]["train_loss"] > 0
    capsys.readouterr()
    parts.summary(rows)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["plain", "RoPE"]


def test_the_better_rate_is_that_with_the_better_mean():
    values = {parts.RATES[0]: [0.5, 0.52, 0.51], parts.RATES[1]: [0.6, 0.45, 0.47]}
    rows = [
        {"variant": "plain", "learning_rate": rate, "seed": seed, "validation_accuracy": value}
        for rate, accuracies in values.items()
        for seed, value in enumerate(accuracies)
    ]
    assert {row["learning_rate"] for row in parts.better_rate(rows, "plain")} == {parts.RATES[0]}
    assert {row["learning_rate"] for row in parts.better_rate(rows[1:], "plain")} == {parts.RATES[1]}
    assert parts.better_rate(rows, "RoPE") == []


def test_the_stored_table_is_whole_and_of_these_models():
    rows = parts.read()
    found = [(row["variant"], row["seed"], row["learning_rate"]) for row in rows]
    assert sorted(found) == sorted(itertools.product(parts.VARIANTS, range(parts.SEEDS), parts.RATES))
    counted = {name: sum(p.numel() for p in changed(name).parameters()) for name in parts.VARIANTS}
    assert all(row["parameters"] == counted[row["variant"]] for row in rows)
    # Chance is 0.1, and a step with more in it is not cheaper than a plain one by more than the clock is off.
    assert all(0.45 < row["validation_accuracy"] < 0.65 and 0.9 < row["step_ratio"] < 2 for row in rows)
