"""What the data refuse, in one sentence: parts that do not fit together, and arguments that are none."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch
from runs import write_pictures
from torchvision.datasets import CIFAR10

from vit_course import data
from vit_course._support.inputs.source_names import SOURCES

# An image, a label and a mask for each of five: every size different.
IMAGES = torch.randint(0, 256, (5, 2, 7, 9), dtype=torch.uint8)
LABELS = torch.tensor([3, 0, 2, 1, 3])
MASKS = torch.rand(5, 7, 9) < 0.5
SET = data.ImageSet(IMAGES, LABELS, MASKS)
FILES = data.ImageFiles(np.array(list("vwxyz")), LABELS, (7, 9))
DATASET = data.Dataset("odd", SET, SET[:3], SET[3:], ("a", "b", "c", "d"), (0.4, 0.5), (0.2, 0.3))
CHOSEN = "a slice, a tensor of indices or a mask, got"


def image_set(**changes):
    return data.ImageSet(**{"images": IMAGES, "labels": LABELS, "masks": MASKS, **changes})


def image_files(**changes):
    return data.ImageFiles(**{"paths": FILES.paths, "labels": LABELS, "image_size": (7, 9), **changes})


def shapes(**changes):
    return data.shapes(**{"num_train": 3, "num_validation": 2, "num_test": 1, "image_size": 9, **changes})


def augmented(name, **changes):
    """`name` of the module on two images of 8 x 12, with these arguments changed."""
    images = torch.rand(2, 3, 8, 12)
    arguments = {
        "shift_and_flip": dict(images=images, padding=2, flip=True, generator=None),
        "random_shifts": dict(count=2, padding=2, flip=True, generator=None),
        "shift_images": dict(images=images, shifts=torch.tensor([[1, -2, 0], [0, 2, 1]]), padding=2),
        "random_places": dict(count=2, image_size=(8, 12), generator=None),
        "cut_out": dict(images=images, places=torch.tensor([[1, 2], [7, 11]]), side=3),
    }[name]
    return getattr(data, name)(**{**arguments, **changes})


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (0, r"got 0: write train\[0:1\] for a batch of one, or train.images\[0\] and train.labels\[0\]$"),
        (-1, r"got -1: write train\[-1:\] for a batch of one, or train.images\[-1\] and train.labels\[-1\]$"),
        (torch.tensor(2), r"got 2: write train\[2:3\]"),
        (torch.tensor([1, 5]), f"{CHOSEN} Tensor .*: index 5 is out of bounds for axis 0 with size 5"),
        (np.array([-6]), f"{CHOSEN} ndarray .*: index -6 is out of bounds for axis 0 with size 5"),
        (torch.tensor([True, False, True]), f"{CHOSEN} .* axis is 5 but size of corresponding boolean axis is 3"),
        (torch.tensor([0.0, 1.0]), f"{CHOSEN} Tensor of shape"),
        (torch.tensor([[0, 1]]), f"{CHOSEN} Tensor of shape"),
        (slice(None, None, -1), "must go forwards, got step -1"),
        (slice(0, 2.5), f"{CHOSEN} slice.*must be integers"),
        (torch.tensor([1, 4]).to("meta"), "indices must hold numbers, got a tensor on the device meta"),
        ((0, 1), rf"{CHOSEN} \(0, 1\)"),
        ("train", f"{CHOSEN} 'train'"),
        (True, f"{CHOSEN} True"),
    ],
)
def test_an_index_that_chooses_no_batch(index, message):
    for part in (SET, FILES):
        words = message if part is SET else message.replace("train.images", "train.paths")
        with pytest.raises(ValueError, match=words):
            part[index]


PARTS = [
    (lambda: list(SET), "got 0: write"),  # a loop over the images does not end in silence
    (lambda: image_set(images=IMAGES.float()), "images must be uint8, got float32"),
    (lambda: image_set(images=IMAGES[:, :, :0]), r"at least one channel and one pixel, got shape \(5, 2, 0, 9\)"),
    (lambda: image_set(labels=LABELS.int()), "labels must be int64, got int32"),
    (lambda: image_set(labels=LABELS[:2]), "there are 5 images but 2 labels"),
    (lambda: image_set(labels=LABELS.to("meta")), "labels must hold numbers, got a tensor on the device meta"),
    (lambda: image_set(masks=MASKS.byte()), "masks must be bool, got uint8"),
    (lambda: image_set(masks=MASKS.mT), r"need masks of shape \(5, 7, 9\), got \(5, 9, 7\)"),
    (lambda: image_set(kept=torch.zeros(5)), "kept must be int64, got float32"),
    (lambda: image_files(paths=list("vwxyz")), r"paths must be a NumPy array \(n,\) of file names, got \['v', "),
    (lambda: image_files(paths=np.arange(5)), "paths must be a NumPy array"),
    (lambda: image_files(paths=np.array(list("vw"))), "there are 2 paths but 5 labels"),
    (lambda: image_files(labels=LABELS.float()), "labels must be int64, got float32"),
    (lambda: image_files(image_size=0), "image_size must be at least 1, got 0"),
    (lambda: replace(DATASET, class_names=("a", "b", "c")), "train has the label 3, but there are 3 classes, 0 to 2"),
    (lambda: replace(DATASET, test=image_set(labels=LABELS - 1)), "test has the label -1, but there are 4 classes"),
    (lambda: replace(DATASET, class_names="abcd"), "class_names must be a tuple of words, one per class, got 'abcd'"),
    (lambda: replace(DATASET, class_names=(0, 1, 2, 3)), r"class_names must be a tuple of words, .* got \(0, 1, 2, 3"),
    (lambda: replace(DATASET, class_names=()), "class_names must be a tuple of words"),
    (lambda: replace(DATASET, mean=(0.5,)), "mean and std must have 2 values, got 1 and 2"),
    (lambda: replace(DATASET, mean=(0.5, float("nan"))), "mean of channel 1 must be a number, got nan"),
    (lambda: replace(DATASET, std=(0.5, 1e-300)), "std of channel 1 must be at least 0.0001, got 1e-300"),
    (lambda: replace(DATASET, validation=image_set(images=IMAGES.mT, masks=None)),
     r"validation has images of \(C, H, W\) = \(2, 9, 7\), but train of \(2, 7, 9\)"),
    (lambda: replace(DATASET, test=FILES), r"test .* = \(3, 7, 9\), but train"),
    (lambda: replace(DATASET, validation=SET[:0]), "validation needs at least one image, got none"),
    (lambda: replace(DATASET, train=IMAGES), "train must be an ImageSet or ImageFiles, got Tensor of shape"),
    (lambda: replace(DATASET, name=None), "name must be a str and source a dict, got None"),
    (lambda: replace(DATASET, source="shapes"), "name must be a str and source a dict, got 'odd' and 'shapes'"),
    (lambda: DATASET.normalise(IMAGES[:, :1]), "images have 1 channels, but those of odd have 2"),
    (lambda: DATASET.normalise(IMAGES / 255), "images to normalise must be uint8, got float32"),
    (lambda: data.load_batches(SET, [torch.tensor([0, 5])]), "index 5 is out of bounds"),
    (lambda: data.load_batches(SET, torch.tensor([[0, 1]])), "batches must be a list of tensors of indices, got"),
    (lambda: data.load_batches(SET, [], -1), "workers must be at least 0, got -1"),
    (lambda: data.load_batches(IMAGES, []), "images must be an ImageSet or ImageFiles, got Tensor of shape"),
    (lambda: data.unreadable(SET), "unreadable takes a Dataset, got "),
    (lambda: data.photographs()["cat"].mask(224), "a function from a picture to what the model takes, got 224"),
    (lambda: data.photographs()["cat"].mask(data.open_image), r"must turn a picture into \(1, C, H, W\), got \(3, "),
    (lambda: data.photographs()["cat"].mask(lambda picture: picture), "must turn .* got Image"),
]  # fmt: skip
ARGUMENTS = [
    (lambda: shapes(num_test=0), "num_test must be at least 1, got 0"),
    (lambda: shapes(num_train=2.0), "num_train must be an int of at least 1, got 2.0"),
    (lambda: shapes(num_validation="9"), "num_validation must be an int of at least 1, got '9'"),
    (lambda: shapes(image_size=(7, 32)), "at least 8 x 8 .* got 7 x 32"),
    (lambda: shapes(image_size=(9, 10, 3)), r"must be an int or \(height, width\), two .* got \(9, 10, 3\)"),
    (lambda: shapes(seed=2**32), "seed must be at most 4294967295, got 4294967296"),
    (lambda: shapes(noise=float("inf")), "noise must be at most 100, got inf"),
    (lambda: shapes(clutter=10**6), "clutter must be at most 1000, got 1000000"),
    (lambda: data.digits(seed=True), "seed must be an int of at least 0, got True"),
    (lambda: data.seed_everything(-1), "seed must be at least 0, got -1"),
    (lambda: data.seed_everything(np.int64(7)), "seed must be an int of at least 0, got np.int64"),
    (lambda: data.cifar10(None), "the path of a folder must be a str or a Path, got None"),
    (lambda: data.cifar10("https://example.org/cifar"), "https://example.org/cifar is an address on the web:"),
    (lambda: data.cifar10(__file__), "is a file: give the folder in which cifar-10-batches-py is"),
    (lambda: data.cifar10(download="no"), "download must be True or False, got 'no'"),
    (lambda: data.cifar10(seed=-1), "seed must be at least 0, got -1"),
    (lambda: data.folder(b"pictures"), "the path of a folder must be a str or a Path, got b'pictures'"),
    (lambda: data.folder(""), "the path of a folder must be one that a file can have"),
    (lambda: data.folder("http://example.org/pets"), "http://example.org/pets is an address on the web: download"),
    (lambda: data.folder(".", image_size=True), "image_size must be an int or .*, got True"),
    (lambda: data.folder(".", seed=1.5), "seed must be an int of at least 0, got 1.5"),
    (lambda: data.folder(".", on_disk="no"), "on_disk must be True or False, got 'no'"),
    (lambda: data.from_recipe({}), "or an existing folder, got None"),
    (lambda: data.from_recipe({"source": "shape"}), f"data must be {', '.join(SOURCES)} or an existing folder, got '"),
    (lambda: data.from_recipe({"source": __file__}), "or an existing folder, got '"),
    (lambda: data.from_recipe("shapes"), "the data of a recipe must be given like .*, got 'shapes'"),
    (lambda: data.from_recipe({"source": "digits", "num_train": 9}), "^num_train is for shapes, crops and scenes, but"),
    (lambda: data.from_recipe({"source": "digits", "on_disk": True}), "^on_disk is for a folder, but digits takes"),
    (lambda: data.from_recipe({"source": "cifar10", "image_size": 9}), "^image_size is for shapes, scenes and a"),
    (lambda: data.from_recipe({"source": "shapes", "root": "."}), "^root is for cifar10, but shapes takes num_train, "),
    (lambda: data.from_recipe({"source": "shapes", 3: 1}), "^no source of data takes 3, but shapes takes num_train"),
    (lambda: data.from_recipe({"source": ".", "root": "x"}), "^root is for cifar10, but the folder"),
]  # fmt: skip
AUGMENTATION = [
    ("shift_and_flip", {"images": torch.rand(3, 8, 12)}, r"images must have 4 axes \(B, C, H, W\), got .*\(3, 8, 12\)"),
    ("shift_and_flip", {"padding": True}, "padding must be an int of at least 0, got True"),
    ("shift_and_flip", {"padding": 8}, "padding 8 does not fit an image of 8 x 12"),
    ("shift_and_flip", {"flip": 1}, "flip must be True or False, got 1"),
    ("shift_and_flip", {"generator": 3}, "generator must be a torch.Generator on the CPU or None, got 3"),
    ("random_shifts", {"count": -1}, "count must be at least 0, got -1"),
    ("shift_images", {"shifts": torch.zeros(3, 3).long()}, r"2 images need shifts of shape \(2, 3\), got \(3, 3\)"),
    ("shift_images", {"shifts": torch.zeros(2, 3)}, "shifts must be whole numbers, got float32"),
    ("shift_images", {"shifts": torch.zeros(2, 3, device="meta").long()}, "shifts must hold numbers, got a tensor"),
    ("shift_images", {"shifts": torch.tensor([[-(2**63), 0, 0], [0, 0, 0]])}, "reach 9223372036854775808 pixels"),
    ("shift_images", {"padding": 1}, "the shifts reach 2 pixels, but the padding is 1"),
    ("random_places", {"count": 10**8}, "count must be at most 10000000, got 100000000"),
    ("random_places", {"image_size": (8, 0)}, r"image_size must be an int or \(height, width\), two .*, got \(8, 0\)"),
    ("random_places", {"generator": "cpu"}, "generator must be a torch.Generator"),
    ("cut_out", {"images": torch.zeros(2, 3, 8, 12, dtype=torch.uint8)}, "normalised images, .* got torch.uint8"),
    ("cut_out", {"places": torch.zeros(5, 2).long()}, r"2 images need places of shape \(2, 2\), got \(5, 2\)"),
    ("cut_out", {"places": torch.tensor([[0, 0], [8, 0]])}, "places must lie inside the images of 8 x 12"),
    ("cut_out", {"side": -3}, "side must be at least 0, got -3"),
]


@pytest.mark.parametrize(("call", "message"), PARTS + ARGUMENTS)
def test_what_is_refused_in_a_sentence(call, message, monkeypatch):
    monkeypatch.setattr(CIFAR10, "__init__", lambda *_, **__: pytest.fail("it was looked for"))
    with pytest.raises((ValueError, TypeError), match=message):
        call()


@pytest.mark.parametrize(("name", "changes", "message"), AUGMENTATION)
def test_augmentation_of_what_does_not_fit(name, changes, message):
    assert len(augmented(name)) == 2
    with pytest.raises((ValueError, TypeError), match=message):
        augmented(name, **changes)


def test_what_is_free_is_what_may_be_taken(monkeypatch):
    drawn = 1000 * 96 * 80 * 80  # of a thousand at once
    kept = (1500 + 2 + 1 + 1500) * 96 * 80 * 4
    monkeypatch.setitem(data.shapes.__globals__, "_draw_shapes", lambda *_: exit("drawn"))
    for free, error in ((drawn + kept - 1, ValueError), (drawn + kept, SystemExit)):
        monkeypatch.setattr(psutil, "virtual_memory", lambda free=free: SimpleNamespace(available=free))
        with pytest.raises(error, match=r"1503 shapes of 96 x 80 need|drawn"):
            data.shapes(1500, 2, 1, image_size=(96, 80))


@pytest.mark.parametrize(
    ("on_disk", "held", "instead"), [(False, 24 + 20, "leave them on disk with on_disk=True"), (True, 40, "ask for")]
)
def test_a_folder_that_no_memory_holds_is_refused_before_it_is_read(on_disk, held, instead, tmp_path, monkeypatch):
    root = write_pictures(tmp_path / "pictures")
    needed = held * 3 * 18 * 14
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=needed))
    data.folder(root, image_size=(18, 14), on_disk=on_disk)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=needed - 1))
    monkeypatch.setattr("PIL.Image.open", lambda *_: pytest.fail("a picture was opened"))
    with pytest.raises(ValueError, match=rf"{held} images of 18 x 14 need .* are free: {instead}"):
        data.folder(root, image_size=(18, 14), on_disk=on_disk)
