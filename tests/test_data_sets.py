"""A dataset: its parts, what is chosen, normalised and augmented of them, and the source that makes it again."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from test_data_refused import DATASET, IMAGES, LABELS, MASKS, SET, augmented

from vit_course import data
from vit_course.data.dataset import with_statistics


def test_digits_are_real_and_complete():
    d = data.digits()
    assert (len(d.train), len(d.validation), len(d.test)) == (1197, 200, 400)
    assert d.train.images.shape[1:] == (1, 8, 8) and d.class_names == tuple("0123456789")
    every = torch.cat([part.images.flatten(1) for part in (d.train, d.validation, d.test)])
    real = (load_digits().data * 255 / 16).round().astype(int)
    assert sorted(map(tuple, every.tolist())) == sorted(map(tuple, real.tolist()))


def test_normalisation():
    for dataset in (data.digits(), data.shapes(200, 5, 5, image_size=(16, 24))):
        x = dataset.normalise(dataset.train.images)
        assert x.dtype == torch.float32
        torch.testing.assert_close(x.mean((0, 2, 3)), torch.zeros(dataset.in_channels), atol=1e-3, rtol=0)
        torch.testing.assert_close(x.std((0, 2, 3)), torch.ones(dataset.in_channels), atol=1e-3, rtol=0)


def test_a_channel_without_contrast_is_no_division_by_zero():
    images = IMAGES.clone()
    images[:, 1] = 77
    part = data.ImageSet(images, LABELS)
    dataset = with_statistics("flat", part, part, part, tuple("abcd"), {})
    assert dataset.std[1] == round(1 / 255, 4) < dataset.std[0]
    normalised = dataset.normalise(images)
    assert normalised.isfinite().all() and normalised[:, 1].abs().max() < 0.1


@pytest.mark.parametrize(
    "index",
    [
        torch.tensor([True, False, True, True, False]),
        [0, 2, 3],
        np.array([0, 2, 3]),
        np.array([3, 2, 0])[::-1],
        torch.tensor([0, -3, 3], dtype=torch.int32),
        [True, False, True, True, False],
    ],
)
def test_indices_of_every_kind_choose_the_same(index):
    chosen = SET[index]
    assert torch.equal(chosen.images, IMAGES[[0, 2, 3]]) and chosen.labels.tolist() == [3, 2, 1]
    assert torch.equal(chosen.masks, MASKS[[0, 2, 3]])
    assert len(SET[[]]) == len(SET[torch.zeros(5, dtype=torch.bool)]) == len(SET[5:]) == 0


def test_a_dataset_may_be_changed():
    plain = replace(DATASET, mean=(0, 0), std=(1, 1), train=SET[:1], class_names=("a", "b", "c", "d", "unused"))
    normalised = plain.normalise(IMAGES)
    assert normalised.dtype == torch.float32 and torch.equal(normalised, IMAGES / 255)
    double = replace(DATASET, mean=tuple(np.array([0.4, 0.5])))  # NumPy's own numbers
    assert torch.equal(double.normalise(IMAGES), DATASET.normalise(IMAGES))
    assert double.normalise(IMAGES).dtype == torch.float32


def test_a_source_makes_the_same_images_again():
    made = data.shapes(7, 5, 3, image_size=(9, 13), seed=4)
    again = data.from_recipe(made.source)
    assert torch.equal(again.train.images, made.train.images) and again.source == made.source
    assert torch.equal(data.from_recipe(data.digits(seed=3).source).test.labels, data.digits(seed=3).test.labels)
    assert data.digits(seed=3).source == {"source": "digits", "seed": 3}


def test_shift_and_flip_by_hand():
    images = torch.arange(2 * 3 * 8 * 12).reshape(2, 3, 8, 12)
    assert torch.equal(data.shift_and_flip(images, 0, False), images)
    generator = torch.Generator().manual_seed(1)
    out = data.shift_and_flip(images.repeat(50, 1, 1, 1), 0, True, generator)
    flipped = sum(torch.equal(o, i.flip(2)) for o, i in zip(out, images.repeat(50, 1, 1, 1), strict=True))
    straight = sum(torch.equal(o, i) for o, i in zip(out, images.repeat(50, 1, 1, 1), strict=True))
    assert flipped + straight == 100 and 30 < flipped < 70


def test_shifts_are_crops_of_the_reflected_image():
    image = torch.randn(1, 3, 8, 12)
    padded = torch.nn.functional.pad(image, (2, 2, 2, 2), mode="reflect")
    crops = [padded[:, :, i : i + 8, j : j + 12] for i in range(5) for j in range(5)]
    seen = set()
    for out in data.shift_and_flip(image.repeat(300, 1, 1, 1), 2, False):
        matches = [i for i, crop in enumerate(crops) if torch.equal(out[None], crop)]
        assert len(matches) == 1
        seen |= set(matches)
    assert len(seen) == 25


def test_cut_out_by_hand():
    images = torch.ones(3, 2, 5, 7)
    places = torch.tensor([[2, 3], [0, 6], [4, 0]])
    out = data.cut_out(images, places, 3)
    expected = torch.ones(3, 5, 7)
    expected[0, 1:4, 2:5] = 0
    expected[1, 0:2, 5:7] = 0  # the rest of the square lies outside
    expected[2, 3:5, 0:2] = 0
    assert torch.equal(out, expected[:, None].expand(3, 2, 5, 7))
    assert torch.equal(data.cut_out(images, places, 0), images) and images.min() == 1
    drawn = data.random_places(500, (5, 7), torch.Generator().manual_seed(0))
    assert drawn.shape == (500, 2) and drawn.min(0).values.tolist() == [0, 0] and drawn.max(0).values.tolist() == [4, 6]


def test_shifts_are_drawn_apart_from_being_made(odd_images):
    def generator():
        return torch.Generator().manual_seed(3)

    shifts = data.random_shifts(2, 3, True, generator())
    assert shifts.shape == (2, 3) and shifts[:, :2].abs().max() <= 3
    whole = data.shift_and_flip(odd_images, 3, True, generator())
    for i in range(2):  # a part of the batch moves as it does in the whole
        assert torch.equal(data.shift_images(odd_images[i : i + 1], shifts[i : i + 1], 3), whole[i : i + 1])
    # The crop begins two rows above the image, and one column further right; the second is mirrored afterwards.
    out = data.shift_images(odd_images, torch.tensor([[-2, 1, 0], [0, 1, 1]]), 2)
    assert torch.equal(out[0, :, 2:, :-1], odd_images[0, :, :-2, 1:])
    assert torch.equal(out[1, :, :, 1:], odd_images[1, :, :, 1:].flip(-1))


def test_a_batch_of_nothing_is_augmented_to_nothing():
    # As where not one file of a batch could be read.
    empty = torch.empty(0, 3, 8, 12)
    assert augmented("shift_images", images=empty, shifts=torch.empty(0, 3).long()).shape == empty.shape
    assert augmented("cut_out", images=empty, places=torch.empty(0, 2).long()).shape == empty.shape


@pytest.mark.slow
def test_crops_are_of_the_photographs_and_no_pixel_is_in_two_parts():
    d = data.crops(44, 22, 11)
    assert len(d.class_names) == 11 and set(d.class_names) < set(data.photographs()) and d.image_size == (32, 32)
    assert torch.equal(d.train.images, data.crops(44, 22, 11).train.images)
    assert not torch.equal(d.train.images, data.crops(44, 22, 11, seed=1).train.images)
    for part, (left, right) in ((d.train, (0, 128)), (d.validation, (128, 192)), (d.test, (128, 192))):
        for crop, label in zip(part.images, part.labels, strict=True):
            photograph = data.photographs()[d.class_names[label]]
            whole = data.open_image(photograph.path, 192)[:, :, left:right]
            corners = (whole[:, :161, :-31] == crop[:, :1, :1]).all(dim=0).nonzero().tolist()
            assert any(torch.equal(whole[:, y : y + 32, x : x + 32], crop) for y, x in corners)
    assert data.from_recipe(d.source).test.labels.tolist() == list(range(11))
