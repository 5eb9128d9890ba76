"""Effects: those of whole passes with one change each, in passes that begin at the change; progress and interrupts."""

import copy
import dataclasses
import re
import threading

import by_hand
import pytest
import torch
import torch.nn.functional as F
from by_hand import LIBRARIES, OURS, TIMM
from conftest import ROOT
from test_recording import hooks
from torch import nn

from vit_course import maps
from vit_course.maps import effects, hide, intervene, without_branch, without_head, without_layer
from vit_course.vit import ViT


def quietly(*given, **options):
    return effects(*given, progress=False, **options)


def untouched(model):
    return hooks(model) == 0 and not any("forward" in vars(module) for module in model.modules())


def end(model, image, of):
    """(D,) or (num_classes,), by a hook on the last norm."""
    seen = []
    norm = [module for module in model.modules() if isinstance(module, nn.LayerNorm)][-1]
    hook = norm.register_forward_hook(lambda *given: seen.append(given[2]))
    out = model(image)
    hook.remove()
    out = out if isinstance(out, torch.Tensor) else out.logits
    return (out if of == "logits" else seen[0][:, 0 if of == "class token" else of])[0].double()


def one_by_one(model, image, interventions, of):
    found = []
    with torch.no_grad():
        before = end(model, image, of)
        for one in interventions:
            with intervene(model, [one]):
                after = end(model, image, of)
            cosine = (before @ after) / before.norm() / after.norm()
            a, b = before - before.mean(), after - after.mean()
            found.append((a - b).norm() / a.norm() if of == "logits" else 1 - cosine)
    return torch.stack(found).float()


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("of", ["logits", "class token", 3])
def test_they_are_those_of_passes_with_one_change_each(name, of):
    library = LIBRARIES[name]
    model, image, picture = library.model(), library.images(1), library.images(1)
    rows, columns = library.size[0] // 7, library.size[1] // 7
    places = [(layer, place) for layer in range(3) for place in range(3)]
    branches = [(layer, branch) for layer in range(3) for branch in ("attention", "mlp")]
    for options, shape, made in (
        ({}, (3, 3), [without_head(*place) for place in places]),
        ({"kind": "heads", "by": "zero", "batch_size": 2}, (3, 3), [without_head(*place, "zero") for place in places]),
        ({"kind": "heads", "by": picture}, (3, 3), [without_head(*place, picture) for place in places]),
        ({"kind": "patches", "batch_size": 4}, (rows, columns), [hide(patch) for patch in range(rows * columns)]),
        ({"kind": "branches"}, (3, 2), [without_branch(*place) for place in branches]),
        (
            {"kind": "branches", "by": "token mean"},
            (3, 2),
            [without_branch(*place, "token mean") for place in branches],
        ),
        ({"kind": "layers"}, (3,), [without_layer(layer) for layer in range(3)]),
    ):
        found = quietly(model, image, of=of, **options)
        assert found.values.shape == shape and found.complete and found.of == of
        expected = one_by_one(model, image, made, of)
        torch.testing.assert_close(found.values.flatten(), expected, rtol=1e-3, atol=2e-7)
        assert expected.max() > 3e-5
    assert untouched(model)


@pytest.mark.parametrize("blocks", [[[0, 1, 3, 4], [2, 5]], [[0, 1, 3, 4], [2, 5], [6, 7], [8]]])
def test_blocks_of_patches_are_hidden_together_smaller_ones_at_the_edges(blocks):
    size = (7 * (1 + max(map(max, blocks)) // 3), 21)
    config = dataclasses.replace(by_hand.CONFIG, image_size=size)
    model, image = by_hand.published.shaken(ViT(config)), torch.randn(1, 3, *size)
    for of in ("logits", "class token"):
        found = quietly(model, image, "patches", of, block=2, batch_size=3)
        assert found.values.shape == (len(blocks) // 2, 2)
        expected = one_by_one(model, image, [hide(block) for block in blocks], of)
        torch.testing.assert_close(found.values.flatten(), expected, rtol=1e-3, atol=2e-7)
    every = quietly(model, image, "patches", "class token", block=4).values
    expected = one_by_one(model, image, [hide(slice(None))], "class token")
    torch.testing.assert_close(every.flatten(), expected, rtol=1e-3, atol=2e-7)


def test_recordings_and_interventions_around_it():
    model, image = OURS.model(), OURS.images(1)
    with torch.no_grad():
        with maps.record_attention(model) as recorded:
            model(image)
            quietly(model, image)
        assert len(recorded.stacked()) == 1
        others = [
            without_branch(1, "mlp"),
            hide(2),
            without_layer(0, "token mean"),
            maps.patched(1, 2, torch.ones(1, 7, 36)),
        ]
        heads = [without_head(layer, head) for layer in range(3) for head in range(3)]
        with intervene(model, others):
            found = quietly(model, image, of="class token")
            expected = one_by_one(model, image, heads, "class token")
    torch.testing.assert_close(found.values.flatten(), expected, rtol=1e-4, atol=1e-6)
    assert not torch.allclose(found.values, quietly(model, image, of="class token").values, rtol=0.01)


class InPlace(nn.Module):
    """A layer of ours that adds in place."""

    def __init__(self, block):
        super().__init__()
        self.norm1, self.attention, self.norm2, self.mlp = block.norm1, block.attention, block.norm2, block.mlp

    def forward(self, x):
        x += self.attention(self.norm1(x))
        x += self.mlp(self.norm2(x))
        return x


def test_layers_that_add_in_place():
    model, image, picture = OURS.model(), OURS.images(1), OURS.images(1)
    other = copy.deepcopy(model)
    for place, block in enumerate(other.encoder.blocks):
        other.encoder.blocks[place] = InPlace(block)
    with (
        torch.no_grad(),
        intervene(model, [maps.patched(1, 1, picture)]),
        intervene(other, [maps.patched(1, 1, picture)]),
    ):
        torch.testing.assert_close(other(image), model(image), rtol=1e-5, atol=1e-6)
    for kind in ("heads", "layers", "branches"):
        expected = quietly(model, image, kind).values
        torch.testing.assert_close(quietly(other, image, kind).values, expected, rtol=1e-4, atol=1e-6)


def test_other_threads_and_a_layer_with_a_forward_of_its_own():
    model, image, other, seen = OURS.model(), OURS.images(1), OURS.images(1), []
    expected, before = quietly(model, image).values, model(other)
    second, own = model.encoder.blocks[1], model.encoder.blocks[0].forward
    model.encoder.blocks[0].forward = lambda x: own(x)
    mine = threading.get_ident()

    def meanwhile(*_):
        if threading.get_ident() == mine:
            thread = threading.Thread(target=lambda: seen.append(model(other).detach()))
            thread.start()
            thread.join()

    hook = second.register_forward_pre_hook(meanwhile)
    found = quietly(model, image).values
    hook.remove()
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    assert len(seen) == 3 and all(torch.allclose(one, before, atol=1e-6) for one in seen)
    assert vars(model.encoder.blocks[0]).pop("forward").__name__ == "<lambda>" and untouched(model)


@pytest.mark.parametrize("done", [1, 4])
def test_an_interrupt_keeps_what_is_done(done):
    model, image = TIMM.model(), TIMM.images(1)
    whole, passes = quietly(model, image), []

    def pressed(*_):
        passes.append(1)
        if len(passes) == 2 + done + 1:  # the unchanged one, one that counts heads, those that are done, and one more
            raise KeyboardInterrupt

    hook = model.norm.register_forward_pre_hook(pressed)
    found = quietly(model, image, batch_size=1)
    hook.remove()
    assert found.done == done and not found.complete
    torch.testing.assert_close(found.values.flatten()[:done], whole.values.flatten()[:done], rtol=1e-4, atol=1e-6)
    assert found.values.flatten()[done:].isnan().all() and untouched(model)
    assert str(found) == f"effects of {done} of 9 heads on the logits (interrupted: the others are NaN)"
    assert str(whole) == "effects of 9 of 9 heads on the logits"


def test_the_bar_counts_effects_on_standard_output_and_is_gone_in_the_end(capsys):
    effects(OURS.model(), OURS.images(1), kind="branches", of=2)
    out, error = capsys.readouterr()
    assert "branches:" in out and "0/6" in out and error == "" and out.endswith("\r")
    quietly(OURS.model(), OURS.images(1))
    assert capsys.readouterr() == ("", "")


def test_what_it_refuses():
    model, image = OURS.model(), OURS.images(1)
    for options, message in (
        ({"kind": "head"}, "kind must be 'heads', 'patches', 'branches' or 'layers', got 'head'"),
        ({"of": "token"}, "of must be 'logits', 'class token', the index of a token or a function, got 'token'"),
        ({"of": 7}, "of: token must be from 0 to 6, got 7"),
        ({"of": -1}, "token must be an int of at least 0"),
        ({"by": "median"}, "by must be 'token mean' or 'zero', got 'median'"),
        ({"by": image.to_sparse()}, "by must be a dense tensor, got a sparse"),
        ({"by": image.to("meta")}, "by must hold numbers, got a tensor on the device meta"),
        ({"by": OURS.images(2)}, r"by must be another picture, or one for each, \(1, C, H, W\), got shape \(2, 3, "),
        ({"kind": "patches", "by": "token mean"}, "by must be left out if kind is 'patches'"),
        ({"kind": "patches", "block": 0}, "block must be at least 1, got 0"),
        ({"kind": "patches", "block": True}, "block must be an int of at least 1, got True"),
        ({"block": 2}, "block must be left out if kind is 'heads'"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"progress": 1}, "progress must be True or False, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            effects(model, image, **options)
    for given in (image[:0], image[0]):
        with pytest.raises(ValueError, match=r"images must be one or more pictures \(B, C, H, W\), got shape"):
            effects(model, given)
    with pytest.raises(ValueError, match=r"in training mode, .*call model.eval\(\) first"):
        effects(model.train(), image)
    with pytest.raises(ValueError, match="must be finite"), torch.no_grad():
        model.eval().head.weight.fill_(torch.inf)
        quietly(model, image)
    with pytest.raises(ValueError, match="the logits of a picture are all equal, as those of a head that is not tr"):
        torch.nn.init.constant_(model.head.weight, 0)
        torch.nn.init.constant_(model.head.bias, 0.1)
        quietly(model, image)
    assert quietly(model, image, of="class token").complete
    assert untouched(model)


@pytest.mark.thorough
def test_the_heads_that_matter_on_a_photograph_as_the_docs_say(monkeypatch):
    monkeypatch.chdir(ROOT)
    names, text = {}, (ROOT / "docs" / "use.md").read_text(encoding="utf-8")
    exec(
        re.search(r"```python\n(import torch\n\nfrom vit_course import data, maps, .*?)```", text, re.DOTALL)[1], names
    )
    model, image, found = names["run"].model, names["image"], names["heads"].values
    assert found.flatten().topk(2).indices.tolist() == [3 * 6 + 4, 11 * 6 + 3]
    torch.testing.assert_close(found[[3, 11], [4, 3]], torch.tensor([0.114, 0.061]), rtol=0, atol=0.002)
    assert (found < 0.01).sum() > 50
    assert "12 layers on the class token, 23 of 23 pictures: 0.13 ± 0.02 on average" in str(names["layers"])
    assert abs(names["similar"].values[0] + 0.65) < 0.02
    with torch.no_grad():
        before = model.features(image)
        with intervene(model, [without_head(11, 3)]):
            after = model.features(image)
    assert abs(1 - F.cosine_similarity(before[:, 0], after[:, 0]).item() - found[11, 3].item()) < 1e-5
    assert (before - names["tokens"]).abs().max() > 0.1
    with pytest.raises(ValueError, match="the model must give logits"):
        effects(model, image)
