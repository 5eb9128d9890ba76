"""The effect of each head, "Without it", attention against effect: saved, with a kernel, on the live page."""

import json

import numpy as np
import pytest
import torch
from explored import NEEDS_CHROMIUM, drawn, opening, patch, violations, watch
from explorer_parts import call, module_page
from lab import run_cell, running_lab, wait_for_kernel, write_notebook
from live_page import HAND_OVER, visit, wait_shown
from served import served

from vit_course import data, maps, pretrained
from vit_course.explorer import explore
from vit_course.explorer.changes import family, key

pytestmark = NEEDS_CHROMIUM
MATTERS, SAID, AGAINST = ".vit-matters-words", ".vit-without-said", ".vit-against"
HEADS = "Effect of each head"


@pytest.fixture(scope="module")
def shapes():
    model, dataset = pretrained.load("shapes"), data.shapes()
    return model, dataset.test.images[3], dataset.normalise


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    with opening(browser, tmp_path_factory.mktemp("pages") / "page.html") as opened:
        yield opened


def text(page, selector: str, *parts: str) -> str:
    """Waits until it has all parts in it; -> what is written there."""
    read = f"document.querySelector('{selector}').textContent.replaceAll('\\u00a0', ' ')"
    page.wait_for_function(f"parts => parts.every(part => {read}.includes(part))", arg=list(parts))
    return page.evaluate(read)


def take(page, name: str) -> None:
    page.locator(".vit-lab").get_by_role("button", name=name, exact=True).click()


def turned(model, images, *interventions) -> torch.Tensor:
    """(T,): 1 - cosine of each token after the last norm."""
    with torch.no_grad():
        before = model.features(images)
        with maps.intervene(model, interventions):
            return 1 - torch.cosine_similarity(before, model.features(images), dim=-1)[0]


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Spearman's: of the ranks, of which equals share the mean."""

    def ranks(values):
        _, place, count = np.unique(values, return_inverse=True, return_counts=True)
        return (np.cumsum(count) - (count - 1) / 2)[place]

    return np.corrcoef(ranks(one), ranks(other))[0, 1]


@pytest.mark.parametrize("grid", [(8, 8), (16, 16), (14, 11), (37, 37), (1, 3)])
def test_the_page_asks_for_the_changes_that_python_knows(browser, grid):
    page = module_page(browser)
    panel = {"rows": grid[0], "columns": grid[1], "all_layers": 2, "heads": 3}
    found = call(page, "effects", "['token mean', 'zero'].map(by => m.headChanges(a, by)).concat([m.blockChanges(a)])"
                 ".map(some => some.map(m.key))", panel)  # fmt: skip
    assert found == [[key(one) for one in family(name, 2, 3, grid)] for name in ("token mean", "zero", "patches")]
    page.close()


def test_rank_correlation_is_that_of_mean_ranks(browser):
    page, draw = module_page(browser), np.random.default_rng(0)
    for _ in range(3):
        one, other = draw.integers(0, 6, (2, 20))  # with ties
        found = call(page, "effects", "m.rankCorrelation(a[0], a[1])", [one.tolist(), other.tolist()])
        assert found == pytest.approx(correlation(one, other))
    assert call(page, "effects", "Number.isNaN(m.rankCorrelation([1, NaN, 2], [1, 2, 3]))"), "two places tell nothing"
    page.close()


@pytest.mark.thorough
def test_a_saved_page_shows_what_was_computed_and_says_what_was_not(opened, shapes):
    model, image, normalise = shapes
    explorer = explore(model, image, preprocess=normalise, effects=["token mean", "patches"], query=0, layer=3, head=1)
    page = opened(explorer)
    assert not page.locator(".vit-lab-body").is_visible() and not page.locator(MATTERS).is_visible(), "it opens as ever"
    images = normalise(image[None])
    found = maps.effects(model, images, of="class token", progress=False).values
    layer, head = divmod(int(found.argmax()), found.shape[1])
    page.get_by_text(HEADS).click()
    said = text(page, MATTERS, f"without layer {layer}, head {head}: by {float(found.max()):.2f}"[:-2])
    assert f"{int((found < 0.01).sum())} of {found.numel()} heads" in said
    assert text(page, ".vit-matters-chosen").startswith(
        f"Layer 3, head 1, whose map is shown: {float(found[3, 1]):.2f}"[:-2]
    )
    page.get_by_text("Zeros", exact=True).click()
    text(page, ".vit-face .vit-sweep", f"The saved page holds 0 of the {found.numel()} results.")
    page.locator(".vit-lab > summary").click()
    take(page, "Layer 3, head 1")
    row = turned(model, images, maps.without_head(3, 1))
    said = text(page, SAID, "the class token by")
    assert float(said.split("the class token by ")[1].split()[0]) == pytest.approx(float(row[0]), abs=5e-3)
    nobody = "A saved page has no model: only what was computed before it was saved is here."
    assert nobody in page.locator(".vit-lab").inner_text()
    for name in ("MLP of layer 3", "The framed patch", "Choose patches"):
        assert not page.get_by_role("button", name=name, exact=True).is_visible(), "nothing is offered in grey"
    take(page, "Put everything back")
    page.wait_for_function(f"() => document.querySelector('{SAID}').textContent === ''")
    assert page.evaluate("() => document.activeElement.textContent") == "Layer 3, head 1", "the focus is not lost"
    said = text(page, AGAINST, "rank correlation of the two", f"Over the maps of all {found.numel()} heads")
    effect = maps.effects(model, images, kind="patches", of="class token", progress=False).values.flatten()
    with torch.no_grad(), maps.record_attention(model) as recorded:
        model(images)
    light = recorded.stacked()[0, 3, 1, 0, 1:]
    wanted = correlation(light.numpy(), effect.numpy())
    assert float(said.split("class token is ")[1].split()[0].replace("−", "-")) == pytest.approx(wanted, abs=0.02)
    page.get_by_text("Who looks here", exact=True).click()
    page.wait_for_selector(".vit-against[data-said='to']")
    assert text(page, AGAINST) == said, "it is about where the query looks"
    assert violations(page) == []


def test_nothing_is_offered_where_nobody_can_answer(opened, shapes):
    model, image, normalise = shapes
    page = opened(explore(model, image, preprocess=normalise))
    page.locator(".vit-lab > summary").click()
    drawn(page)
    assert "A saved page has no model" in page.locator(".vit-lab").inner_text()
    assert page.locator(".vit-lab button:visible").count() == 0 and not page.get_by_text(HEADS).is_visible()


CELLS = [
    "from vit_course import data, pretrained\nfrom vit_course.explorer import explore\n"
    "model, dataset = pretrained.load('shapes'), data.shapes()\n"
    "explorer = explore(model, dataset.test.images[3], preprocess=dataset.normalise, query=0, layer=3, head=1)",
    "explorer",
    "print(len(explorer.everything()['_panels'][0]['tested']), explorer.testing)",
]


@pytest.mark.thorough
def test_a_kernel_answers_and_a_saved_page_keeps_it(browser, tmp_path, shapes):
    model, image, normalise = shapes
    images = normalise(image[None])
    write_notebook(tmp_path / "lab.ipynb", CELLS)
    with running_lab(f"--ServerApp.root_dir={tmp_path}") as address:
        page = browser.new_page(viewport={"width": 1280, "height": 1400})
        watch(page)
        page.goto(f"{address}/lab/tree/lab.ipynb?reset")
        wait_for_kernel(page)
        for index in range(2):
            run_cell(page, index)
        page.wait_for_selector(".jp-OutputArea .vit-explorer[data-ready]")
        page.locator(".vit-lab > summary").click()
        take(page, "Layer 3, head 1")
        row = turned(model, images, maps.without_head(3, 1))
        assert f"the class token by {float(row[0]):.2f}"[:-1] in text(page, SAID, "Without layer 3, head 1")
        take(page, "Attention of layer 3")
        both = turned(model, images, maps.without_branch(3, "attention"), maps.without_head(3, 1))
        said = text(page, SAID, "Without the attention of layer 3 and layer 3, head 1")
        assert f"the class token by {float(both[0]):.2f}"[:-1] in said
        take(page, "Put back the attention of layer 3")
        text(page, SAID, "Without layer 3, head 1")
        take(page, "Attention of layer 3")
        text(page, SAID, "Without the attention of layer 3 and layer 3, head 1")
        take(page, "Compare the maps")
        page.wait_for_function("() => document.querySelectorAll('.vit-main').length === 2")
        titles = page.locator(".vit-title").all_inner_texts()
        assert titles == ["as it is", "without the attention of layer 3 and layer 3, head 1"]
        take(page, "Stop comparing")
        page.wait_for_function("() => document.querySelectorAll('.vit-main').length === 1")
        page.get_by_text(HEADS).click()
        page.get_by_role("button", name="Test all").click()
        count = model.config.num_layers * model.config.num_heads
        text(page, MATTERS, f"of {count} heads change it by")
        found = maps.effects(model, images, of="class token", progress=False).values
        layer, head = divmod(int(found.argmax()), found.shape[1])
        assert f"without layer {layer}, head {head}: " in page.locator(MATTERS).inner_text()
        assert "".join(output["text"] for output in run_cell(page, 2)).split() == [str(count + 1), "True"]
        assert page.outside == [] and page.errors == [], json.dumps(page.errors)
        page.close()


@pytest.mark.thorough
def test_on_the_live_page_the_browser_answers(browser, live_folder):
    run = pretrained.load_run("vit-s14-cifar10", image_size=224)
    images = run.preprocess(data.photographs()["cat"].open())
    with served(live_folder) as server:
        context = browser.new_context(viewport={"width": 1280, "height": 1400})
        page = visit(context, server.address)
        wait_shown(page, "vit-s14 224")
        page.locator(".vit-lab > summary").click()
        page.locator(".vit-chip", has_text="class token").click()
        text(page, "[data-kept=take-0]", "Layer ")  # drawn once it is open
        names = page.locator(".vit-lab .vit-tools-buttons button").all_inner_texts()
        layer, head = (int(part.split()[-1]) for part in names[0].split(","))
        take(page, names[0])
        row = turned(run.model, images, maps.without_head(layer, head))
        text(page, SAID, f"the class token by {float(row[0]):.3f} ")
        page.get_by_text("What a toy head of ten words says").click()
        assert page.locator(".vit-without-says .vit-class-name").first.is_visible()
        page.get_by_role("button", name="Hide all 64, one at a time").click()
        text(page, AGAINST, "With ", " of 64 so far", "rank correlation")
        take(page, "Stop")
        text(page, AGAINST, "Continue (")
        # What cannot be opened leaves what is shown, and what can be asked of it.
        page.evaluate(HAND_OVER, ["drop", list(b"no picture")])
        page.wait_for_selector(".live-refused")
        take(page, "Choose patches")
        page.mouse.click(*patch(page, 3, 3, 16, 16))
        page.mouse.click(*patch(page, 3, 4, 16, 16))
        said = text(page, SAID, "2 patches")
        hidden = turned(run.model, images, maps.without_head(layer, head), maps.hide([51, 52]))
        assert f"the class token by {float(hidden[0]):.3f} " in said
        take(page, "Done")
        take(page, "Compare the maps")
        page.wait_for_function("() => document.querySelectorAll('.vit-main').length === 2")
        page.wait_for_function("() => document.activeElement.textContent === 'Stop comparing'")
        assert page.errors == [] and page.outside == []
        context.close()
