import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from conftest import cases

from vit_course import data
from vit_course.data.dataset import with_statistics


def test_digits_are_real_and_complete():
    d = data.digits()
    assert (len(d.train), len(d.validation), len(d.test)) == (1197, 200, 400)
    assert d.train.images.shape[1:] == (1, 8, 8) and d.class_names == tuple("0123456789")
    every = torch.cat([part.images.flatten(1) for part in (d.train, d.validation, d.test)])
    from sklearn.datasets import load_digits

    assert sorted(map(tuple, every.tolist())) == sorted(
        map(tuple, (load_digits().data * 255 / 16).round().astype(int).tolist())
    )


@cases("dataset", [data.digits(), data.shapes(200, 5, 5, image_size=(16, 24))])
def test_normalisation(dataset):
    x = dataset.normalise(dataset.train.images)
    assert x.dtype == torch.float32
    torch.testing.assert_close(x.mean((0, 2, 3)), torch.zeros(dataset.in_channels), atol=1e-3, rtol=0)
    torch.testing.assert_close(x.std((0, 2, 3)), torch.ones(dataset.in_channels), atol=1e-3, rtol=0)


def test_normalise_refuses_what_it_does_not_know():
    shapes = data.shapes(6, 1, 1, image_size=(24, 32))
    with pytest.raises(ValueError, match=r"takes images as torch.uint8 .* got torch.float32"):
        shapes.normalise(torch.rand(2, 3, 24, 32))
    with pytest.raises(ValueError, match=r"takes images \(B, 3, H, W\), got shape \(2, 1, 24, 32\)"):
        shapes.normalise(torch.zeros(2, 1, 24, 32, dtype=torch.uint8))


def test_image_set_checks_its_lengths():
    with pytest.raises(ValueError, match="3 images with 2 labels"):
        data.ImageSet(torch.zeros(3, 1, 2, 2, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64))


# An image, a label and a mask for each of five: every size different.
IMAGES = torch.randint(0, 256, (5, 2, 7, 9), dtype=torch.uint8)
LABELS = torch.tensor([3, 0, 2, 1, 3])
MASKS = torch.rand(5, 7, 9) < 0.5
SET = data.ImageSet(IMAGES, LABELS, MASKS)
DATASET = data.Dataset("odd", SET, SET[:3], SET[3:], ("a", "b", "c", "d"), (0.4, 0.5), (0.2, 0.3))


@cases(
    ("index", "message"),
    [
        (0, r"got 0: write train\[0:1\] for a batch of one, or train.images\[0\] and train.labels\[0\]$"),
        (-1, r"got -1: write train\[-1:\] for a batch of one, or train.images\[-1\] and train.labels\[-1\]$"),
        (np.int64(4), r"got 4: write train\[4:5\]"),
        (torch.tensor(2), r"got 2: write train\[2:3\]"),
        (np.array(2), r"got 2: write train\[2:3\]"),
        (True, "got 1: write"),
        (torch.tensor([1, 5]), "index 5 is out of range for 5 images"),
        (torch.tensor([-6, 0]), "index -6 is out of range for 5 images"),
        (np.array([9]), "index 9 is out of range for 5 images"),
        (torch.tensor([True, False, True]), "a mask needs a value for each of 5 images, got 3"),
        ([True] * 6, "a mask needs a value for each of 5 images, got 6"),
        (torch.tensor([0.0, 1.0]), "a slice, a tensor of indices or a mask, got Tensor of shape"),
        (torch.tensor([[0, 1]]), "a slice, a tensor of indices or a mask, got Tensor of shape"),
        (
            torch.tensor([1, 0, 0, 0, 1], dtype=torch.uint8),
            "a slice, a tensor of indices or a mask, got Tensor of shape",
        ),
        (slice(None, None, -1), "goes forwards, got step -1"),
        (slice(0, 2.5), "a mask, got slice.*must be integers"),
        (slice(0, 4, 0), "a mask, got slice.*cannot be zero"),
        (torch.tensor([1, 4]).to("meta"), "indices must hold numbers, got a tensor on the device meta"),
        (torch.tensor([1, 4]).to_sparse(), "indices must be a dense tensor, got a sparse_coo one"),
        ((0, 1), r"a mask, got \(0, 1\)"),
        (["first"], r"a mask, got \['first'\]"),
        ("train", "a mask, got 'train'"),
        (None, "a mask, got None"),
        (..., "a mask, got Ellipsis"),
    ],
)
def test_an_index_that_chooses_no_batch(index, message):
    files = data.ImageFiles(np.array(list("vwxyz")), LABELS, (7, 9))
    for part in (SET, files):
        with pytest.raises(
            ValueError, match=message if part is SET else message.replace("train.images", "train.paths")
        ):
            part[index]


def test_a_loop_over_the_images_does_not_end_in_silence():
    with pytest.raises(ValueError, match="got 0: write"):
        list(SET)


@cases(
    "index",
    [
        torch.tensor([True, False, True, True, False]), [0, 2, 3], np.array([0, 2, 3]), np.array([3, 2, 0])[::-1],
        torch.tensor([0, -3, 3], dtype=torch.int32), [True, False, True, True, False],
    ],
)  # fmt: skip
def test_indices_of_every_kind_choose_the_same(index):
    chosen = SET[index]
    assert torch.equal(chosen.images, IMAGES[[0, 2, 3]]) and chosen.labels.tolist() == [3, 2, 1]
    assert torch.equal(chosen.masks, MASKS[[0, 2, 3]])
    assert len(SET[[]]) == len(SET[torch.zeros(5, dtype=torch.bool)]) == len(SET[5:]) == 0


@cases(
    ("arguments", "message"),
    [
        ((IMAGES.float(), LABELS), "images must be uint8, got float32"),
        ((IMAGES[0], LABELS), r"images must have 4 axes \(n, C, H, W\), got shape \(2, 7, 9\)"),
        ((IMAGES[:, :, :0], LABELS), r"at least one channel and one pixel, got shape \(5, 2, 0, 9\)"),
        ((IMAGES, LABELS.int()), "labels must be int64, got int32"),
        ((IMAGES, LABELS[:, None]), r"labels must have 1 axis \(n,\), got shape \(5, 1\)"),
        ((IMAGES, LABELS, MASKS.byte()), "masks must be bool, got uint8"),
        ((IMAGES, LABELS, MASKS.mT), r"need masks of shape \(5, 7, 9\), got \(5, 9, 7\)"),
        ((IMAGES, LABELS, None, (), torch.zeros(5)), "kept must be int64, got float32"),
        ((IMAGES.to_sparse(), LABELS), "images must be a dense tensor, got a sparse_coo one"),
        ((IMAGES, LABELS.to("meta")), "labels must hold numbers, got a tensor on the device meta"),
        ((IMAGES, LABELS, MASKS[:4]), r"need masks of shape \(5, 7, 9\), got \(4, 7, 9\)"),
    ],
)
def test_an_image_set_needs_parts_that_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        data.ImageSet(*arguments)


@cases(
    ("name", "value", "kind"),
    [("images", IMAGES.numpy(), "ndarray"), ("labels", LABELS.tolist(), "list"), ("kept", [0, 1], "list")],
)
def test_an_image_set_is_made_of_tensors(name, value, kind):
    with pytest.raises(TypeError, match=f"^{name} must be a torch.Tensor, got {kind}$"):
        data.ImageSet(**{"images": IMAGES, "labels": LABELS, name: value})


@cases(
    ("changes", "message"),
    [
        ({"paths": list("vwxyz")}, r"paths must be a NumPy array \(n,\) of file names, got \['v', "),
        ({"paths": np.arange(5)}, "paths must be a NumPy array"),
        ({"paths": np.array(list("vw"))}, "2 paths with 5 labels"),
        ({"labels": LABELS.float()}, "labels must be int64, got float32"),
        ({"image_size": 0}, "image_size must be at least 1, got 0"),
        (
            {"image_size": (7, 9, 3)},
            r"image_size must be an int or \(height, width\), two ints of at least 1, got \(7, 9, 3\)",
        ),
    ],
)
def test_image_files_need_parts_that_fit(changes, message):
    given = {"paths": np.array(list("vwxyz")), "labels": LABELS, "image_size": (7, 9)}
    with pytest.raises(ValueError, match=message):
        data.ImageFiles(**{**given, **changes})
    assert data.ImageFiles(**{**given, "image_size": 7}).image_size == (7, 7)


@cases(
    ("changes", "message"),
    [
        ({"class_names": ("a", "b", "c")}, "train has the label 3, and there are 3 classes, 0 to 2"),
        ({"test": data.ImageSet(IMAGES, LABELS - 1)}, "test has the label -1, and there are 4 classes, 0 to 3"),
        ({"class_names": "abcd"}, "class_names must be a tuple of words, one a class, got 'abcd'"),
        ({"class_names": (0, 1, 2, 3)}, r"class_names must be a tuple of words, one a class, got \(0, 1, 2, 3\)"),
        ({"class_names": ()}, "class_names must be a tuple of words"),
        ({"mean": (0.5,)}, "mean and std must have 2 values, got 1 and 2"),
        ({"std": 0.5}, "std must be a list of 2 numbers, got 0.5"),
        ({"mean": (0.5, float("nan"))}, "mean of channel 1 must be a number, got nan"),
        ({"std": (0.5, float("inf"))}, "std of channel 1 must be at most 1.0, got inf"),
        ({"std": (0.5, "0.5")}, "std of channel 1 must be a number, got '0.5'"),
        ({"std": (0.5, 0.0)}, "std of channel 1 must be at least 0.0001, got 0.0"),
        ({"mean": (0.5, 1e300)}, r"mean of channel 1 must be at most 1.0, got 1e\+300"),
        ({"std": (0.5, 1e-300)}, "std of channel 1 must be at least 0.0001, got 1e-300"),
        ({"std": (-0.5, 1.0)}, "std of channel 0 must be at least 0.0001, got -0.5"),
        ({"validation": data.ImageSet(IMAGES.mT, LABELS)},
         r"validation has images of \(C, H, W\) = \(2, 9, 7\) and train of \(2, 7, 9\)"),
        ({"test": data.ImageSet(IMAGES[:, :1], LABELS)}, r"test has images of \(C, H, W\) = \(1, 7, 9\)"),
        ({"test": data.ImageFiles(np.array(list("vwxyz")), LABELS, (7, 9))}, r"test .* = \(3, 7, 9\) and train"),
        ({"validation": SET[:0]}, "validation needs at least one image, got none"),
        ({"train": IMAGES}, "train must be an ImageSet or ImageFiles, got Tensor of shape"),
        ({"name": None}, "name must be a str and source a dict, got None"),
        ({"source": "shapes"}, "name must be a str and source a dict, got 'odd' and 'shapes'"),
    ],
)  # fmt: skip
def test_a_dataset_needs_parts_that_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(DATASET, **changes)


def test_a_dataset_may_be_changed():
    plain = replace(DATASET, mean=(0, 0), std=(1, 1), train=SET[:1], class_names=("a", "b", "c", "d", "unused"))
    normalised = plain.normalise(IMAGES)
    assert normalised.dtype == torch.float32 and torch.equal(normalised, IMAGES / 255)
    double = replace(DATASET, mean=tuple(np.array([0.4, 0.5])))  # NumPy's own numbers
    assert torch.equal(double.normalise(IMAGES), DATASET.normalise(IMAGES))
    assert double.normalise(IMAGES).dtype == torch.float32


def test_a_large_dataset_is_checked_in_no_time():
    images = torch.zeros(1, 1, 1, 1, dtype=torch.uint8).expand(50_000, 3, 33, 31)
    part = data.ImageSet(images, torch.arange(50_000) % 10)
    started = time.perf_counter()
    replace(DATASET, train=part, validation=part, test=part, class_names=tuple("0123456789"), mean=(0,) * 3,
            std=(1,) * 3)  # fmt: skip
    seconds = time.perf_counter() - started
    print(f"three parts of 50,000 images checked in {1000 * seconds:.2f} ms")
    assert seconds < 1


@cases(
    ("function", "images", "message"),
    [
        ("normalise", IMAGES[0], r"normalise takes images \(B, 2, H, W\), got shape \(2, 7, 9\)"),
        ("normalise", IMAGES.numpy(), r"normalise takes images \(B, 2, H, W\), got ndarray of shape"),
    ],
)
def test_only_images_are_normalised(function, images, message):
    with pytest.raises(ValueError, match=message):
        getattr(DATASET, function)(images)


def test_a_channel_without_contrast_is_no_division_by_zero():
    images = IMAGES.clone()
    images[:, 1] = 77
    part = data.ImageSet(images, LABELS)
    dataset = with_statistics("flat", part, part, part, tuple("abcd"), {})
    assert dataset.std[1] == round(1 / 255, 4) < dataset.std[0]
    normalised = dataset.normalise(images)
    assert normalised.isfinite().all() and normalised[:, 1].abs().max() < 0.1


@cases("seed", [-1, 2**32, 1.0, True, "1", None, np.int64(7)])
def test_a_seed_that_is_none(seed):
    for function in (data.seed_everything, data.digits):
        with pytest.raises(ValueError, match=r"^seed must be (an int of )?at (least 0|most 4294967295), got "):
            function(seed)
    data.seed_everything(2**32 - 1)
    data.seed_everything(7)
    first = torch.rand(3)
    data.seed_everything(7)
    assert torch.equal(torch.rand(3), first)


@cases(
    ("arguments", "message"),
    [
        ((SET, [torch.tensor([0, 5])]), "index 5 is out of range for 5 images"),
        ((SET, torch.tensor([[0, 1]])), "batches must be a list of tensors of indices, got Tensor of shape"),
        ((SET, [0, 1]), r"batches must be a list of tensors of indices, got \[0, 1\]"),
        ((SET, [torch.tensor([0])], -1), "workers must be at least 0, got -1"),
        ((SET, [torch.tensor([0])], 1.0), "workers must be an int of at least 0, got 1.0"),
        ((SET, [torch.tensor([0])], 10**9), "workers must be at most 1000, got 1000000000"),
        ((IMAGES, [torch.tensor([0])]), "images must be an ImageSet or ImageFiles, got Tensor of shape"),
    ],
)
def test_batches_are_checked_before_the_first_is_asked_for(arguments, message):
    with pytest.raises(ValueError, match=message):
        data.load_batches(*arguments)


def test_a_part_is_no_dataset():
    with pytest.raises(ValueError, match="unreadable takes a Dataset, got "):
        data.unreadable(SET)
