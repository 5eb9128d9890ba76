import numpy as np
import pytest
import torch
import torch.nn.functional as F
from conftest import cases
from torch import nn

from vit_course.patches import PatchEmbedding, patchify, unpatchify


def test_patchify_by_hand():
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    expected = [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    assert patchify(image, 2).tolist() == [expected]


def test_patchify_order_is_row_column_channel(odd_images):
    patches = patchify(odd_images, 4)
    assert patches.shape == (2, 6, 48)
    # Patch 4 is in row 1, column 1 of the 2 x 3 grid; its pixel (2, 3), channel 1, is number (2 * 4 + 3) * 3 + 1.
    assert patches[1, 4, (2 * 4 + 3) * 3 + 1] == odd_images[1, 1, 4 + 2, 4 + 3]


@cases(("height", "width", "patch_size"), [(8, 12, 4), (12, 8, 2), (6, 10, 1), (15, 5, 5)])
def test_round_trip_is_exact(height, width, patch_size):
    images = torch.randn(2, 3, height, width)
    assert torch.equal(unpatchify(patchify(images, patch_size), patch_size, (height, width)), images)


def test_unpatchify_needs_the_right_grid(odd_images):
    back = unpatchify(patchify(odd_images, 4), 4, (12, 8))
    assert not torch.equal(back.transpose(2, 3), odd_images)


def test_three_spellings_of_the_embedding_agree(odd_images):
    embedding = PatchEmbedding(4, 3, 7)
    weight, bias = embedding.projection.weight, embedding.projection.bias
    # unfold orders a patch by (channel, row, column), as the convolution's weight is laid out.
    by_unfold = F.linear(F.unfold(odd_images, 4, stride=4).transpose(1, 2), weight.flatten(1), bias)
    linear = nn.Linear(48, 7)
    linear.weight.data, linear.bias.data = weight.permute(0, 2, 3, 1).flatten(1), bias
    by_reshape = linear(patchify(odd_images, 4))
    expected = embedding(odd_images)
    assert expected.shape == (2, 6, 7)
    torch.testing.assert_close(by_unfold, expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(by_reshape, expected, atol=1e-5, rtol=0)


def test_a_batch_is_a_batch(odd_images):
    embedding = PatchEmbedding(4, 3, 7)
    assert embedding(odd_images[:1]).shape == (1, 6, 7)
    torch.testing.assert_close(embedding(odd_images)[1:], embedding(odd_images[1:]), atol=1e-6, rtol=0)


@cases(
    ("shape", "message"),
    [
        ((2, 3, 30, 12), "image height 30 is not a multiple of patch size 4"),
        ((2, 3, 12, 30), "image width 30 is not a multiple of patch size 4"),
        ((2, 3, 0, 12), "image height 0 is not a multiple of patch size 4"),
        ((3, 8, 12), r"4 axes \(B, C, H, W\), got shape \(3, 8, 12\)"),
        ((0, 3, 8, 12), r"batch is empty: shape \(0, 3, 8, 12\)"),
    ],
)
@cases("cut", [lambda x: patchify(x, 4), PatchEmbedding(4, 3, 7)])
def test_images_that_cannot_be_cut(shape, message, cut):
    with pytest.raises(ValueError, match=message):
        cut(torch.zeros(shape))


def test_wrong_number_of_channels():
    with pytest.raises(ValueError, match="images have 1 channels, the model takes 3"):
        PatchEmbedding(4, 3, 7)(torch.zeros(2, 1, 8, 12))


@cases(
    ("shape", "size", "message"),
    [
        ((2, 5, 48), (8, 12), "8 x 12 has 6 patches of side 4, got 5"),
        ((2, 6, 47), (8, 12), "multiple of 16 numbers, got 47"),
        ((6, 48), (8, 12), r"3 axes \(B, N, P\*P\*C\), got shape \(6, 48\)"),
        ((2, 6, 48), (9, 12), "image height 9 is not a multiple of patch size 4"),
    ],
)
def test_patches_that_do_not_fit_the_image(shape, size, message):
    with pytest.raises(ValueError, match=message):
        unpatchify(torch.zeros(shape), 4, size)


@cases("patch_size", [0, -4, 4.0, True, "4", None, 10**9])
def test_patch_sizes(patch_size):
    for call in (
        lambda: patchify(torch.zeros(2, 3, 8, 12), patch_size),
        lambda: unpatchify(torch.zeros(2, 6, 48), patch_size, (8, 12)),
    ):
        with pytest.raises(ValueError, match=r"patch_size must be (an int of )?at (least 1|most 4096), got "):
            call()


@cases("size", [8, (8,), (8, 12, 3), (8.0, 12), (0, 12), "88", None, (8, 10**9)])
def test_image_sizes_of_unpatchify(size):
    with pytest.raises(ValueError, match=r"image_size must be \(height, width\)"):
        unpatchify(torch.zeros(2, 6, 48), 4, size)


def test_patches_without_channels():
    with pytest.raises(ValueError, match=r"images have no channels: shape \(2, 0, 8, 12\)"):
        patchify(torch.zeros(2, 0, 8, 12), 4)
    with pytest.raises(ValueError, match="a multiple of 16 numbers, got 0"):
        unpatchify(torch.zeros(2, 6, 0), 4, (8, 12))
    with pytest.raises(TypeError, match=r"patches must be a torch.Tensor, got list"):
        unpatchify([1], 4, (8, 12))
    with pytest.raises(TypeError, match=r"images must be a torch.Tensor, got ndarray"):
        patchify(np.zeros((2, 3, 8, 12)), 4)
