"""Drawn maps, images, models and grids for what is made of attention maps: a right result, or a sentence of ours."""

import warnings

import pytest
import torch
from conftest import cases
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from runs import new_model
from strategies import (
    ANYTHING,
    REFUSED,
    bytes_of,
    fuzz,
    given_by_name,
    is_tame,
    mostly,
    outcome,
    softmaxed,
    sums_to_one,
    tensors,
)

from vit_course import plots
from vit_course.maps import attention_gradients, record_attention
from vit_course.maps.controls import permute_labels, random_weights, shuffle_patches
from vit_course.maps.interpret import (
    attention_distance,
    mask_score,
    patch_part,
    pointing_game,
    relevance,
    rollout,
)

pytestmark = pytest.mark.slow
MODEL = new_model().eval()  # images (3, 12, 8) in 3 x 2 patches of 4, 7 tokens, 2 layers, 2 heads, 5 classes
GRID = mostly(st.sampled_from([(3, 2), (2, 3), [3, 2]]))
MAPS = tensors(2, 3, 4, 7, 7, make=softmaxed)
SIZE = mostly(st.integers(1, 5))


@fuzz(80)
@given(mostly(st.just(MODEL)), tensors(2, 3, 12, 8))
def test_recorded_maps_sum_to_one_or_are_refused(model, images):
    def record():
        with record_attention(model) as maps:
            model(images)
        return maps.stacked()

    maps = REFUSED if model is not MODEL and isinstance(model, torch.nn.Module) else outcome(record)
    if maps is not REFUSED:
        assert maps.shape == (len(images), 2, 2, 7, 7)
        assert not is_tame(images) or sums_to_one(maps)


@fuzz(80)
@given(mostly(st.just(MODEL)), tensors(2, 3, 12, 8), tensors(2, dtype=torch.int64, make=lambda x: x.abs().clamp(max=4)))
def test_gradients_of_attention_are_finite_or_are_refused(model, images, classes):
    found = REFUSED
    if model is MODEL or not isinstance(model, torch.nn.Module):
        found = outcome(attention_gradients, model, images, classes)
    if found is not REFUSED:
        maps, gradients = found
        assert maps.shape == gradients.shape == (len(images), 2, 2, 7, 7)
        assert not is_tame(images) or (sums_to_one(maps) and gradients.isfinite().all())


@fuzz(120)
@given(MAPS, tensors(2, 3, 4, 7, 7), GRID, SIZE)
def test_what_is_made_of_maps_is_right_or_refused(maps, gradients, grid, patch_size):
    flow, carried = outcome(rollout, maps), outcome(relevance, maps, gradients)
    if flow is not REFUSED:
        assert flow.shape == (len(maps), *maps.shape[3:])
        assert not sums_to_one(maps) or sums_to_one(flow)
    if carried is not REFUSED:
        assert carried.shape == (len(maps), *maps.shape[3:])
        assert not (is_tame(maps) and is_tame(gradients)) or carried.isfinite().all()
    part, distance = outcome(patch_part, maps, grid), outcome(attention_distance, maps, grid, patch_size)
    if part is not REFUSED:
        assert part.shape == (*maps.shape[:3], grid[0] * grid[1], grid[0] * grid[1])
    if distance is not REFUSED and sums_to_one(maps) and (maps >= 0).all():
        assert distance.shape == maps.shape[1:3]
        longest = patch_size * ((grid[0] - 1) ** 2 + (grid[1] - 1) ** 2) ** 0.5
        assert (distance >= 0).all() and (distance <= longest * 1.01 + 1e-4).all()


@fuzz(150)
@given(tensors(2, 3, 2, make=softmaxed), tensors(2, 6, 8, dtype=torch.bool, make=lambda x: x > 0))
def test_a_score_against_a_mask_is_a_share_or_is_refused(map, mask):
    score, hit = outcome(mask_score, map, mask), outcome(pointing_game, map, mask)
    if score is not REFUSED and is_tame(map):
        assert (score >= 0).all() and (score <= 1.01).all()
    if hit is not REFUSED:
        assert hit.dtype == torch.bool
        assert score is REFUSED or hit.shape == score.shape


@fuzz(120)
@given(
    tensors(2, 3, 4, 6, make=bytes_of),
    mostly(st.just(2)),
    tensors(2, 6, dtype=torch.int64, make=lambda x: x.argsort(-1) if x.ndim else x),
)
def test_shuffled_patches_are_the_same_numbers_or_are_refused(images, patch_size, order):
    shuffled = outcome(shuffle_patches, images, patch_size, order)
    if shuffled is not REFUSED:
        assert shuffled.shape == images.shape
        if images.dtype == torch.float32:
            assert torch.equal(
                shuffled.flatten(2).sort().values.nan_to_num(), images.flatten(2).sort().values.nan_to_num()
            )


@fuzz(80)
@given(tensors(9, dtype=torch.int64), mostly(st.integers(0, 99)), mostly(st.just(MODEL.head)))
def test_permuted_labels_and_weights_are_the_same_numbers_or_are_refused(labels, seed, module):
    permuted, random = outcome(permute_labels, labels, seed), outcome(random_weights, module, seed)
    if permuted is not REFUSED and not (permuted.is_meta or permuted.is_complex()):
        assert torch.equal(permuted.sort().values, labels.sort().values)
    if random is not REFUSED:
        for ours, theirs in zip(random.parameters(), module.parameters(), strict=True):
            assert torch.equal(ours.flatten().sort().values, theirs.flatten().sort().values)


TITLE = mostly(st.text(max_size=4))
IMAGE = tensors(3, 6, 8, make=lambda x: x.sigmoid())
QUERY = mostly(st.sampled_from([None, (0, 1), [2, 1]]))
SERIES = st.one_of(st.lists(st.floats(width=32), max_size=3), tensors(3), ANYTHING)
FIGURES = {
    plots.attention_over_image: dict(image=IMAGE, attention=tensors(3, 2), title=TITLE, query=QUERY),
    plots.attention_grid: dict(image=IMAGE, maps=tensors(2, 2, 3, 2), title=TITLE, query=QUERY, first_layer=SIZE),
    plots.image_with_grid: dict(image=IMAGE, patch_size=SIZE, title=TITLE),
    plots.patch_grid: dict(patches=tensors(6, 3, 4, 4), grid=GRID, title=TITLE, numbers=mostly(st.booleans())),
    plots.patch_sequence: dict(
        patches=tensors(6, 4, 4), title=TITLE, first=SIZE, labels=mostly(st.sampled_from([None, list("abcdef")]))
    ),
    plots.position_similarity: dict(table=tensors(6, 5), grid=GRID, title=TITLE),
    plots.curves: dict(
        series=mostly(st.dictionaries(st.text(max_size=3), SERIES, min_size=1, max_size=2)),
        xlabel=TITLE,
        ylabel=TITLE,
        x=mostly(st.sampled_from([None, [1, 2, 3]])),
        title=TITLE,
        log=mostly(st.sampled_from(["", "x", "y", "xy"])),
    ),
    plots.predictions: dict(
        images=tensors(3, 1, 6, 8),
        probabilities=tensors(3, 4, make=softmaxed),
        class_names=mostly(st.just(list("abcd"))),
        labels=st.one_of(st.none(), tensors(3, dtype=torch.int64)),
        columns=SIZE,
    ),
    plots.expected_and_received: dict(expected=tensors(2, 3, 4), received=tensors(2, 3, 4)),
}


@cases("function", FIGURES, ids=lambda function: function.__name__)
@fuzz(12)
@given(st.data())
def test_a_figure_can_be_drawn_or_its_numbers_are_refused(function, data):
    values = data.draw(given_by_name(**FIGURES[function]))
    figure = outcome(function, **values)
    if figure is not REFUSED:
        assert isinstance(figure, Figure)
        figure.set_dpi(10)
        with warnings.catch_warnings(action="ignore"):  # the font has not every letter
            FigureCanvasAgg(figure).draw()


@fuzz(80)
@given(mostly(st.lists(st.tuples(TITLE, mostly(st.just("(B, C)")), tensors(2, 3)), max_size=2)))
def test_a_ledger_is_printed_or_refused(rows):
    assert outcome(plots.ledger, rows) in (None, REFUSED)
