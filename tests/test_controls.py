import pytest
import torch
from conftest import cases

from vit_course.config import ViTConfig
from vit_course.maps.controls import permute_labels, random_weights, shuffle_patches
from vit_course.vit import ViT


def test_random_weights_keep_the_numbers_and_lose_their_places(odd_images):
    model = ViT(ViTConfig(image_size=(8, 12), patch_size=4, num_classes=5, hidden_dim=12, num_layers=2, num_heads=3,
                          mlp_dim=20)).eval()  # fmt: skip
    before = {name: value.clone() for name, value in model.state_dict().items()}
    control = random_weights(model, seed=1)
    moved = 0
    for name, value in control.state_dict().items():
        assert torch.equal(model.state_dict()[name], before[name])  # the model itself stays as it was
        assert torch.equal(value.flatten().sort().values, before[name].flatten().sort().values)
        moved += not torch.equal(value, before[name])
    assert moved > 10
    with torch.no_grad():
        assert not torch.allclose(control(odd_images), model(odd_images))
        assert torch.equal(random_weights(model, seed=1)(odd_images), control(odd_images))
        assert not torch.equal(random_weights(model, seed=2)(odd_images), control(odd_images))


def test_shuffled_patches_are_where_the_order_says():
    images = torch.arange(2 * 3 * 8 * 12, dtype=torch.uint8).reshape(2, 3, 8, 12)
    order = torch.tensor([[5, 0, 3, 1, 2, 4], [0, 1, 2, 3, 4, 5]])
    shuffled = shuffle_patches(images, 4, order)
    assert shuffled.dtype == torch.uint8
    assert torch.equal(shuffled[0, :, :4, :4], images[0, :, 4:, 8:])  # place 0 holds patch 5
    assert torch.equal(shuffled[0, :, :4, 8:], images[0, :, 4:, :4])  # place 2 holds patch 3
    assert torch.equal(shuffled[1], images[1])


def test_permuted_labels_are_as_many_of_each_on_other_images():
    labels = torch.arange(5).repeat(40)
    permuted = permute_labels(labels, seed=3)
    assert torch.equal(permuted.bincount(), labels.bincount())
    assert 0.1 < (permuted == labels).double().mean() < 0.3  # chance is 0.2
    assert torch.equal(permuted, permute_labels(labels, seed=3))
    assert not torch.equal(permuted, permute_labels(labels, seed=4))


IMAGES, ORDER = torch.zeros(2, 3, 8, 12), torch.arange(6).repeat(2, 1)


@cases(
    ("call", "error", "message"),
    [
        (lambda: permute_labels(torch.arange(5), -1), ValueError, "seed must be at least 0, got -1"),
        (lambda: permute_labels(torch.zeros(5, 2)), ValueError, r"labels must have 1 axis \(B,\), got shape \(5, 2\)"),
        (lambda: random_weights(torch.nn.Linear(2, 3), True), ValueError, "seed must be an int of at least 0, got"),
        (lambda: random_weights({"weight": 3}), TypeError, "model must be a torch.nn.Module, got dict"),
        (lambda: shuffle_patches(IMAGES[..., :10], 4, ORDER), ValueError, "image width 10 is not a multiple of"),
        (lambda: shuffle_patches(IMAGES, 4, [[0, 1]]), TypeError, "order must be a torch.Tensor, got list"),
        (lambda: shuffle_patches(IMAGES, 4, ORDER[0]), ValueError, r"order must have 2 axes \(B, N\), got shape"),
        (lambda: shuffle_patches(IMAGES, 4, ORDER[:, :5]), ValueError, r"\(2, 5\).*\(2, 6\)"),
        (lambda: shuffle_patches(IMAGES, 4, ORDER.int()), ValueError, "must be torch.int64 on cpu, got torch.int32 on"),
        (lambda: shuffle_patches(IMAGES, 4, ORDER + 1), ValueError, "each row of order must hold each of the numbers"),
        (lambda: shuffle_patches(IMAGES, 4, ORDER.clamp(max=4)), ValueError, "each row of order must hold each"),
        (lambda: shuffle_patches(IMAGES.to("meta"), 4, ORDER.to("meta")), ValueError, "order must hold numbers, got a"),
    ],
)
def test_what_is_no_control(call, error, message):
    with pytest.raises(error, match=message):
        call()
