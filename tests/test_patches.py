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


@cases(("height", "width", "patch_size"), [(8, 12, 4), (12, 8, 2), (6, 10, 1), (15, 5, 5)])
def test_round_trip_is_exact(height, width, patch_size):
    images = torch.randn(2, 3, height, width)
    assert torch.equal(unpatchify(patchify(images, patch_size), patch_size, (height, width)), images)


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


@cases(
    ("shape", "message"),
    [
        ((2, 3, 30, 12), "image height 30 is not a multiple of patch size 4"),
        ((2, 3, 12, 30), "image width 30 is not a multiple of patch size 4"),
        ((2, 3, 0, 12), "image height 0 is not a multiple of patch size 4"),
        ((3, 8, 12), r"4 axes \(B, C, H, W\), got shape \(3, 8, 12\)"),
        ((0, 3, 8, 12), r"batch is empty: shape \(0, 3, 8, 12\)"),
        ((2, 0, 8, 12), r"images have no channels: shape \(2, 0, 8, 12\)"),
    ],
)
@cases("cut", [lambda x: patchify(x, 4), PatchEmbedding(4, 3, 7)])
def test_images_that_cannot_be_cut(shape, message, cut):
    with pytest.raises(ValueError, match=message):
        cut(torch.zeros(shape))


@cases(
    ("shape", "size", "message"),
    [
        ((2, 5, 48), (8, 12), "8 x 12 has 6 patches of side 4, got 5"),
        ((2, 6, 47), (8, 12), "multiple of 16 numbers, got 47"),
        ((6, 48), (8, 12), r"3 axes \(B, N, P\*P\*C\), got shape \(6, 48\)"),
        ((2, 6, 48), (9, 12), "image height 9 is not a multiple of patch size 4"),
        ((2, 6, 0), (8, 12), "a multiple of 16 numbers, got 0"),
        ((2, 6, 48), (8, 12, 3), r"image_size must be \(height, width\)"),
    ],
)
def test_patches_that_do_not_fit_the_image(shape, size, message):
    with pytest.raises(ValueError, match=message):
        unpatchify(torch.zeros(shape), 4, size)


def test_what_is_no_patch_size_and_no_tensor():
    for cut, images in ((patchify, torch.zeros(2, 3, 8, 12)), (unpatchify, torch.zeros(2, 6, 48))):
        size = () if cut is patchify else ((8, 12),)
        with pytest.raises(ValueError, match="patch_size must be at least 1, got 0"):
            cut(images, 0, *size)
        with pytest.raises(TypeError, match=r"(images|patches) must be a torch.Tensor, got ndarray"):
            cut(images.numpy(), 4, *size)
