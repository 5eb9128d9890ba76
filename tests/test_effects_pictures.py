"""Effects by a function of the output, and on several pictures: numbers of one call for each, and their errors."""

import math

import by_hand
import pytest
import torch
import torch.nn.functional as F
from by_hand import HEADS, LAYERS, LIBRARIES, OURS, TIMM
from test_effects import quietly, untouched

from vit_course.maps import Effects, effects, mean_activations

HEADS_OF_ALL = [(layer, head) for layer in range(LAYERS) for head in range(HEADS)]


def logits(out):
    return out if isinstance(out, torch.Tensor) else out.logits


def difference(out):
    return logits(out)[:, 3] - logits(out)[:, 1]


def losses(labels):
    return [lambda out, label=label: -logits(out).log_softmax(dim=1)[:, label] for label in labels]


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_function_measures_after_minus_before_in_its_own_unit(name, float64):
    library = LIBRARIES[name]
    model, images, labels = library.model(), library.images(3), torch.tensor([4, 0, 2])
    with torch.no_grad():
        before = logits(model(images))
        after = torch.stack(
            [logits(by_hand.without_columns(library, model, *place)(images)) for place in HEADS_OF_ALL], dim=1
        )  # (B, L h, K)
    entropy = F.cross_entropy(after.mT, labels[:, None].expand(3, 9), reduction="none")
    for of, expected in (
        (difference, (after[..., 3] - after[..., 1]) - (before[:, 3] - before[:, 1])[:, None]),
        (lambda out: logits(out)[:, 0].float(), after[..., 0] - before[:, :1]),
        (losses(labels), entropy - F.cross_entropy(before, labels, reduction="none")[:, None]),
    ):
        found = quietly(model, images, of=of, by="zero", batch_size=7)
        tolerance = 1e-6 if of is not difference and callable(of) else 1e-11
        torch.testing.assert_close(found.each.flatten(1), expected, rtol=0, atol=tolerance)
        assert expected.min() < -1e-3 and expected.max() > 1e-3, "with their sign"
        assert found.of is of and "on a function" in str(found)


def test_a_function_may_run_the_model_which_is_not_changed_there(float64):
    model, images, other = OURS.model(), OURS.images(3), OURS.images(1)
    there = model(other).detach()
    found = quietly(model, images, of=lambda out: F.cosine_similarity(out, model(other)))
    torch.testing.assert_close(found.each, quietly(model, images, of=lambda out: F.cosine_similarity(out, there)).each)


@pytest.mark.parametrize("name", LIBRARIES)
def test_several_pictures_have_the_effects_of_one_call_for_each(name, float64):
    library = LIBRARIES[name]
    model, images, others = library.model(), library.images(5), library.images(5)
    means, of_each = mean_activations(model, library.images(4), progress=False), losses([4, 0, 2, 1, 1])
    for options in (
        {"of": "class token"},
        {"of": 3, "by": others[:1], "batch_size": 7},
        {"of": of_each, "by": others, "batch_size": 6},
        {"of": difference, "by": means, "batch_size": 1},
        {"kind": "patches", "block": 2, "of": of_each, "batch_size": 4},
        {"kind": "branches", "by": means, "batch_size": 5},
        {"kind": "layers", "by": others, "of": "class token"},
    ):
        found, each = quietly(model, images, **options), []
        for i in range(5):
            own = {"of": options["of"][i]} if options.get("of") is of_each else {}
            own |= {"by": others[[i]]} if options.get("by") is others else {}
            each.append(quietly(model, images[[i]], **(options | own)).values)
        torch.testing.assert_close(found.each, torch.stack(each), rtol=0, atol=1e-12)
        torch.testing.assert_close(found.values, torch.stack(each).mean(dim=0))
        torch.testing.assert_close(found.error, torch.stack(each).std(dim=0) / math.sqrt(5))
        assert found.complete and found.done == found.each.numel() and found.error.min() > 0
        assert (found.each[0] - found.each[1]).abs().min() > 1e-9
    assert untouched(model)


@pytest.mark.parametrize("batch_size", [1, 7, 16])
def test_batches_are_shared_and_a_picture_costs_what_it_costs_alone(batch_size):
    model, ran = OURS.model(), []
    for block in model.encoder.blocks:
        block.mlp.register_forward_hook(lambda _, x, out: ran.append(len(out)))
    for count in (1, 6):
        ran.clear()
        quietly(model, OURS.images(count), batch_size=batch_size)
        rows = count + 1 + count * LAYERS * HEADS  # unchanged, to count the heads, and changed
        assert sum(ran) == LAYERS * rows and max(ran) == min(batch_size, count * LAYERS * HEADS)


def test_the_error_is_that_of_the_mean_over_pictures():
    one = Effects(torch.tensor([[[1.0, 2.0]]]), "heads", "logits")
    assert one.error.isnan().all() and one.values.tolist() == [[1, 2]], "one picture says nothing about others"
    several = Effects(torch.tensor([[[1.0, 2.0]], [[3.0, 8.0]], [[5.0, 5.0]]]), "heads", 3)
    assert several.values.tolist() == [[3, 5]]
    torch.testing.assert_close(several.error, torch.tensor([[2 / 3**0.5, 3 / 3**0.5]]))
    # The means of the pictures are 1.5, 5.5 and 5, so that their mean is 4, with the error sqrt(4.75 / 3).
    said = "effects of 2 heads on token 3, 3 of 3 pictures: 4 ± 1 on average, the strongest 5 ± 2, at [0, 1]"
    assert str(several) == said


@pytest.mark.parametrize(("passes", "whole", "done"), [(1, 0, 6), (2, 1, 9), (4, 2, 18), (6, 4, 36)])
def test_an_interrupt_keeps_the_pictures_that_are_complete(passes, whole, done):
    # A pass of all pictures, one that counts the heads, and then six changes at once.
    model, images, begun = TIMM.model(), TIMM.images(5), []

    def pressed(*_):
        begun.append(1)
        if len(begun) == passes + 3:
            raise KeyboardInterrupt

    expected = quietly(model, images).each
    hook = model.norm.register_forward_pre_hook(pressed)
    found = quietly(model, images, batch_size=6)
    hook.remove()
    assert found.done == done and not found.complete and untouched(model)
    there = ~found.each.isnan()
    torch.testing.assert_close(found.each[there], expected[there], rtol=1e-4, atol=3e-6)
    kept = expected[:whole] if whole else expected[:1]
    torch.testing.assert_close(found.values[there.any(dim=0)], kept.mean(dim=0)[there.any(dim=0)], rtol=1e-4, atol=1e-6)
    assert there.flatten(1).all(dim=1).tolist() == [True] * whole + [False] * (5 - whole)
    assert f"effects of 9 heads on the logits, {whole} of 5 pictures (interrupted: the others are NaN)" in str(found)
    assert found.error.isnan().any() == (whole < 2)


def test_one_bar_counts_all_effects(capsys):
    effects(OURS.model(), OURS.images(3), kind="branches")
    out, error = capsys.readouterr()
    assert "branches:" in out and "0/18" in out and error == "" and out.endswith("\r")


def test_functions_that_give_no_number_for_each_row():
    model, images = OURS.model(), OURS.images(3)
    for of, message in (
        (lambda out: out.mean(), r"3 rows to one number for each, a tensor of shape \(3,\), but it gave shape \(\)"),
        (lambda out: out, r"it gave shape \(3, 5\)"),
        (lambda out: out[:1, 0], r"3 rows to one number for each, a tensor of shape \(3,\), but it gave shape \(1,\)"),
        (lambda out: out[:, 0].tolist(), r"a tensor of shape \(3,\), but it gave \["),
        (lambda out: out[:, 0].to(torch.complex64), r"it gave shape \(3,\), torch.complex64"),
        (lambda out: out[:, 0] * torch.nan, "what of gives must be finite"),
        ([difference] * 2, "of must be one function, or a function for each of 3 pictures, got"),
        ([difference, difference, "logits"], "of must be one function, or a function for each of 3 pictures, got"),
        (None, "of must be 'logits', 'class token', the index of a token or a function, got None"),
    ):
        with pytest.raises(ValueError, match=message):
            quietly(model, images, of=of)
    with pytest.raises(ValueError, match=r"one for each, \(1 or 3, C, H, W\), got shape \(2, 3, "):
        quietly(model, images, by=OURS.images(2))
    assert untouched(model)
