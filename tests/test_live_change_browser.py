"""The live page's engine: a model that is changed while it computes is the one that `maps.intervene` gives."""

import numpy as np
import pytest
import torch
from explored import NEEDS_CHROMIUM
from live_changed import LOOK, by_python, changed, open_model, worker_page

from vit_course import data, pretrained

pytestmark = [NEEDS_CHROMIUM, pytest.mark.thorough]
SIZES = {"vit-s14": 224, "tiny-cifar": 32}
PHOTOGRAPHS = list(data.photographs())[:10]
ROW = np.random.default_rng(0).normal(size=2 * 384).round(3).tolist()


def head(layer: int, head: int, **by: str) -> dict:
    return {"kind": "head", "layer": layer, "head": head, **by}


def hide(patches: range, **layers: list[int]) -> dict:
    return {"kind": "hide", "patches": list(patches), **layers}


def branch(layer: int, branch: str) -> dict:
    return {"kind": "branch", "layer": layer, "branch": branch}


TWENTY = [
    [head(11, 3)], [head(0, 0)], [head(3, 4, by="token mean")], [head(8, 1, by="zero")], [head(0, 5, by="zero")],
    [head(5, h) for h in range(6)], [head(layer, 2, by="zero") for layer in range(12)],
    [hide([0])], [hide(range(100, 116))], [hide(range(0, 256, 2))], [hide(range(256))],
    [hide(range(40, 80), layers=[11])], [hide(range(40, 80), layers=list(range(6, 12)))],
    [branch(0, "attention")], [branch(5, "mlp")], [branch(11, "mlp")], [branch(4, "attention"), branch(4, "mlp")],
    [{"kind": "tokens", "layer": 0, "tokens": [0, 77], "values": ROW}],
    [{"kind": "tokens", "layer": 9, "tokens": [256, 5], "values": ROW}],
    [head(7, 0), head(7, 0, by="zero"), hide([3, 4], layers=[2, 7]), branch(9, "attention"), head(10, 5)],
]  # fmt: skip


@pytest.fixture(scope="module")
def page(browser, live_folder):
    with worker_page(browser, live_folder) as page:
        yield page


@pytest.fixture(scope="module")
def runs():
    """The models in PyTorch."""
    names = {"vit-s14": "vit-s14-cifar10", "tiny-cifar": "tiny-cifar"}
    return {model: pretrained.load_run(name, image_size=SIZES[model]) for model, name in names.items()}


def look(page, model: str, photograph: str) -> None:
    open_model(page, model)
    assert page.evaluate(LOOK, [model, SIZES[model], photograph]) is None


def close(found, wanted: torch.Tensor, largest: float | None = None) -> None:
    """To 1e-3 of the largest value."""
    largest = wanted.abs().max().item() if largest is None else largest
    np.testing.assert_allclose(found, wanted, atol=1e-3 * largest, rtol=0)


def compare(page, run, photograph: str, interventions: list[dict]) -> None:
    """The answer beside PyTorch: tokens at the end, cosines of all layers, maps of the last, the ten words."""
    before, wanted = (by_python(run, photograph, each) for each in ([], interventions))
    last = len(wanted["ends"]) - 2
    names = ("features", "lse", *(f"{kind}.{layer}" for kind in ("queries", "keys") for layer in (0, last)))
    found = changed(page, interventions, names)
    touched = [one.get("layers", [one.get("layer", 0)])[0] for one in interventions]
    assert found["first"] == min(touched) and found["times"]["layers"] == last + 1 - min(touched)
    arrays = found["arrays"]
    assert sorted(arrays) == sorted(names)
    close(arrays.pop("features"), wanted["ends"][-1])
    scores = [wanted[f"scores.{layer}"] for layer in range(last + 1)]
    largest = max(one[one.isfinite()].abs().max().item() for one in scores)
    close(arrays.pop("lse"), torch.stack([one.logsumexp(dim=-1) for one in scores]), largest)
    for name, array in arrays.items():
        close(array, wanted[name])
    # How much each token changed, also where it is little.
    moved = 1 - torch.cosine_similarity(before["ends"].double(), wanted["ends"].double(), dim=-1)
    np.testing.assert_allclose(1 - found["cosines"].reshape(moved.shape), moved, atol=2e-6, rtol=2e-2)
    assert moved[min(touched) :].max() > 1e-4, "something is changed, in that layer or by what follows"
    if run[2] and found["says"]:
        says = wanted["logits"].softmax(dim=0)
        close(found["says"]["probabilities"], says[[run[2].index(one) for one in found["says"]["labels"]]])


def test_a_changed_model_as_in_pytorch(page, runs):
    look(page, "vit-s14", "rocket")
    compare(page, runs["vit-s14"], "rocket", TWENTY[-1])


def test_the_small_model_and_what_is_not_changed(page, runs):
    look(page, "tiny-cifar", "cat")
    some = [head(1, 2, by="zero"), hide(range(10, 40), layers=[1, 3]), branch(2, "mlp")]
    compare(page, runs["tiny-cifar"], "cat", some)
    found = changed(page, some)
    assert found["hidden"] == [[], list(range(10, 40)), [], list(range(10, 40))] and found["says"] is None
    nothing = changed(page, [])
    assert nothing["first"] == 4 and nothing["times"]["layers"] == 0
    np.testing.assert_allclose(nothing["cosines"], 1, atol=1e-6)


def test_a_change_of_what_was_computed_beforehand_looks_at_the_picture_by_itself(page):
    question = {"model": "tiny-cifar", "size": 32, "name": "clock", "title": "", "source": "/photographs/clock.jpg"}
    look(page, "tiny-cifar", "clock")
    wanted = changed(page, [head(1, 2)])["cosines"]
    look(page, "tiny-cifar", "cat")
    taken = (
        "question => { const one = models.pass(question); return [models.taken({}, true), models.taken(one, true)]; }"
    )
    assert page.evaluate(taken, question) == [False, True]
    np.testing.assert_array_equal(changed(page, [head(1, 2)])["cosines"], wanted)


@pytest.mark.parametrize("photograph", PHOTOGRAPHS)
def test_twenty_changes_of_each_of_ten_photographs_as_in_pytorch(page, runs, photograph):
    assert len(TWENTY) == 20 and len(PHOTOGRAPHS) == 10
    look(page, "vit-s14", photograph)
    for interventions in TWENTY:
        compare(page, runs["vit-s14"], photograph, interventions)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (head(4, 0), "layer 4 does not exist: they are 0 to 3"),
        (head(0, 9), "head 9 does not exist: they are 0 to 3"),
        (head(0, 0, by="median"), 'the way "median" does not exist: choose token mean or zero'),
        (hide([64]), "patch 64 does not exist: they are 0 to 63"),
        (hide([-1]), "patch -1 does not exist"),
        (branch(0, "norm"), 'the branch "norm" does not exist: choose attention or mlp'),
        ({"kind": "tokens", "layer": 0, "tokens": [65], "values": ROW[:48]}, "token 65 does not exist"),
        ({"kind": "tokens", "layer": 0, "tokens": [1], "values": ROW[:47]}, "the values of 1 tokens are 1 times 48"),
        ({"kind": "layer", "layer": 0}, 'the intervention "layer" does not exist: choose head or hide or branch or'),
    ],
)
def test_what_there_is_not_is_refused_in_words(page, one, expected):
    look(page, "tiny-cifar", "cat")
    found = changed(page, [one])
    assert found["words"].startswith(f"The change could not be computed: {expected}")


def test_the_newest_change_counts_and_a_new_picture_ends_it(page):
    look(page, "vit-s14", "cat")
    first, second, told = page.evaluate(
        """async () => {
            let told = 0;
            models.worker.addEventListener("message", ({ data }) => (told += data.kind === "changed"));
            const found = await Promise.all([0, 11].map((layer) => models.change([{ kind: "head", layer, head: 0 }])));
            await models.change([{ kind: "branch", layer: 0, branch: "mlp" }]); // as long as the older one takes
            await new Promise((done) => setTimeout(done)); // every listener has heard the last word
            return [...found.map((one) => one && one.first), told];
        }"""
    )
    assert first is None and second == 11 and told == 2, "the worker leaves off the older one"
    found = page.evaluate(
        """async () => {
            const waits = models.change([{ kind: "head", layer: 0, head: 0 }]), before = answers.length;
            models.look({ model: "tiny-cifar", size: 32, name: "clock", title: "", source: "/photographs/clock.jpg" });
            const found = [await Promise.race([waits, new Promise((done) => setTimeout(done, 20_000))])];
            found.push(await models.change([]));
            await until(() => answers.length > before);
            return found;
        }"""
    )
    assert found == [None, None], "the change of the cat, and one of a picture that is still being looked at"
