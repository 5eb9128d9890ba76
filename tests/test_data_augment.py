import torch
from test_data_refused import augmented

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
