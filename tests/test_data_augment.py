import pytest
import torch
from conftest import cases

from vit_course import data


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


@cases(
    ("padding", "message"),
    [(8, "padding 8 does not fit an image of 8 x 12"), (-1, "padding must be at least 0, got -1")],
)
def test_padding_that_does_not_fit(padding, message, odd_images):
    with pytest.raises(ValueError, match=message):
        data.shift_and_flip(odd_images, padding, False)


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


def call(name, **changes):
    """`name` of the module on two images of 8 x 12, with these arguments changed."""
    arguments = {
        "shift_and_flip": dict(images=torch.rand(2, 3, 8, 12), padding=2, flip=True, generator=None),
        "random_shifts": dict(count=2, padding=2, flip=True, generator=None),
        "shift_images": dict(images=torch.rand(2, 3, 8, 12), shifts=torch.tensor([[1, -2, 0], [0, 2, 1]]), padding=2),
        "random_places": dict(count=2, image_size=(8, 12), generator=None),
        "cut_out": dict(images=torch.rand(2, 3, 8, 12), places=torch.tensor([[1, 2], [7, 11]]), side=3),
    }[name]
    return getattr(data, name)(**{**arguments, **changes})


@cases(
    ("name", "changes", "message"),
    [
        (
            "shift_and_flip",
            {"images": torch.rand(3, 8, 12)},
            r"images must have 4 axes \(B, C, H, W\), got .*\(3, 8, 12\)",
        ),
        ("shift_and_flip", {"padding": 1.5}, "padding must be an int of at least 0, got 1.5"),
        ("shift_and_flip", {"padding": True}, "padding must be an int of at least 0, got True"),
        ("shift_and_flip", {"flip": "no"}, "flip must be True or False, got 'no'"),
        ("shift_and_flip", {"flip": 1}, "flip must be True or False, got 1"),
        ("shift_and_flip", {"generator": 3}, "generator must be a torch.Generator on the CPU or None, got 3"),
        ("random_shifts", {"count": -1}, "count must be at least 0, got -1"),
        ("random_shifts", {"padding": -1}, "padding must be at least 0, got -1"),
        ("random_shifts", {"padding": "2"}, "padding must be an int of at least 0, got '2'"),
        ("shift_images", {"shifts": torch.zeros(3, 3).long()}, r"2 images need shifts of shape \(2, 3\), got \(3, 3\)"),
        ("shift_images", {"shifts": torch.zeros(2, 2).long()}, r"2 images need shifts of shape \(2, 3\), got \(2, 2\)"),
        ("shift_images", {"shifts": torch.zeros(3).long()}, r"shifts must have 2 axes \(B, 3\), got shape \(3,\)"),
        ("shift_images", {"shifts": torch.zeros(2, 3)}, "shifts must be whole numbers, got float32"),
        ("shift_images", {"padding": 1}, "the shifts reach 2 pixels, and the padding is 1"),
        ("shift_images", {"padding": 8}, "padding 8 does not fit an image of 8 x 12"),
        ("shift_images", {"padding": None}, "padding must be an int of at least 0, got None"),
        ("random_places", {"count": 1.0}, "count must be an int of at least 0, got 1.0"),
        (
            "random_places",
            {"image_size": (8, 0)},
            r"image_size must be an int or \(height, width\), two ints .*, got \(8, 0\)",
        ),
        (
            "shift_images",
            {"shifts": torch.tensor([[-(2**63), 0, 0], [0, 0, 0]])},
            "the shifts reach 9223372036854775808 pixels, and the padding is 2",
        ),
        (
            "shift_images",
            {"images": torch.rand(2, 3, 8, 12).to_sparse()},
            "images must be a dense tensor, got a sparse",
        ),
        (
            "shift_images",
            {"shifts": torch.zeros(2, 3, device="meta").long()},
            "shifts must hold numbers, got a tensor on",
        ),
        ("random_shifts", {"count": 10**8}, "count must be at most 10000000, got 100000000"),
        ("random_places", {"count": 10**8}, "count must be at most 10000000, got 100000000"),
        ("random_places", {"generator": "cpu"}, "generator must be a torch.Generator"),
        ("cut_out", {"images": torch.zeros(2, 3, 8, 12, dtype=torch.uint8)}, "normalised images, .* got torch.uint8"),
        ("cut_out", {"images": torch.rand(8, 12)}, r"images must have 4 axes \(B, C, H, W\), got shape \(8, 12\)"),
        ("cut_out", {"places": torch.zeros(5, 2).long()}, r"2 images need places of shape \(2, 2\), got \(5, 2\)"),
        ("cut_out", {"places": torch.zeros(2, 3).long()}, r"2 images need places of shape \(2, 2\), got \(2, 3\)"),
        ("cut_out", {"places": torch.zeros(2, 2)}, "places must be whole numbers, got float32"),
        ("cut_out", {"places": torch.tensor([[0, 0], [8, 0]])}, "a place lies outside the images, which are 8 x 12"),
        ("cut_out", {"places": torch.tensor([[0, 0], [0, -1]])}, "a place lies outside the images, which are 8 x 12"),
        ("cut_out", {"side": -3}, "side must be at least 0, got -3"),
        ("cut_out", {"side": 2.0}, "side must be an int of at least 0, got 2.0"),
    ],
)
def test_augmentation_of_what_does_not_fit(name, changes, message):
    assert len(call(name)) == 2
    with pytest.raises(ValueError, match=message):
        call(name, **changes)


@cases(
    ("name", "changes"),
    [("shift_and_flip", {"images": None}), ("shift_images", {"shifts": [[0, 0, 0]] * 2}), ("cut_out", {"places": 3})],
)
def test_augmentation_of_what_is_no_tensor(name, changes):
    with pytest.raises(TypeError, match=f"^{next(iter(changes))} must be a torch.Tensor, got (NoneType|list|int)$"):
        call(name, **changes)


def test_a_batch_of_nothing_is_augmented_to_nothing():
    # As where not one file of a batch could be read.
    empty = torch.empty(0, 3, 8, 12)
    assert call("shift_images", images=empty, shifts=torch.empty(0, 3).long()).shape == empty.shape
    assert call("cut_out", images=empty, places=torch.empty(0, 2).long()).shape == empty.shape
