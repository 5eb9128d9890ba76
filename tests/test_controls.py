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
    with pytest.raises(ValueError, match=r"\(2, 5\).*\(2, 6\)"):
        shuffle_patches(images, 4, order[:, :5])
    with pytest.raises(ValueError, match="10"):
        shuffle_patches(images[:, :, :, :10], 4, order)


def test_permuted_labels_are_as_many_of_each_on_other_images():
    labels = torch.arange(5).repeat(40)
    permuted = permute_labels(labels, seed=3)
    assert torch.equal(permuted.bincount(), labels.bincount())
    assert 0.1 < (permuted == labels).double().mean() < 0.3  # chance is 0.2
    assert torch.equal(permuted, permute_labels(labels, seed=3))
    assert not torch.equal(permuted, permute_labels(labels, seed=4))


@cases("seed", [-1, 2**32, 1.0, None, True, "1"])
def test_seeds(seed):
    for call in (lambda: permute_labels(torch.arange(5), seed), lambda: random_weights(torch.nn.Linear(2, 3), seed)):
        with pytest.raises(ValueError, match=r"seed must be (an int of )?at (least 0|most 4294967295), got "):
            call()


def test_what_is_no_module_and_no_labels():
    with pytest.raises(TypeError, match=r"model must be a torch.nn.Module, got dict"):
        random_weights({"weight": torch.zeros(3)})
    with pytest.raises(ValueError, match=r"labels must have 1 axis \(B,\), got shape \(5, 2\)"):
        permute_labels(torch.zeros(5, 2))
    with pytest.raises(TypeError, match=r"labels must be a torch.Tensor, got list"):
        permute_labels([1, 2])


@cases(
    ("order", "error", "message"),
    [
        ([[0, 1]], TypeError, "order must be a torch.Tensor, got list"),
        (torch.arange(6), ValueError, r"order must have 2 axes \(B, N\), got shape \(6,\)"),
        (torch.arange(6.0).repeat(2, 1), ValueError, "order must be torch.int64 on cpu, got torch.float32 on cpu"),
        (torch.arange(6).repeat(2, 1).int(), ValueError, "order must be torch.int64 on cpu, got torch.int32 on cpu"),
        (torch.arange(1, 7).repeat(2, 1), ValueError, "each row of order must hold each of the numbers 0 to 5 once"),
        (torch.tensor([[0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 4]]), ValueError, "each row of order must hold each"),
        (torch.arange(-1, 5).repeat(2, 1), ValueError, "each row of order must hold each"),
        (torch.arange(6).repeat(2, 1).to_sparse(), ValueError, "order must be a dense tensor, got a sparse_coo one"),
    ],
)
def test_orders_that_are_none(order, error, message, odd_images):
    with pytest.raises(error, match=message):
        shuffle_patches(odd_images, 4, order)


def test_an_order_without_numbers():
    images, order = torch.zeros(2, 3, 8, 12, device="meta"), torch.zeros(2, 6, dtype=torch.int64, device="meta")
    with pytest.raises(ValueError, match="order must hold numbers, got a tensor on the device meta"):
        shuffle_patches(images, 4, order)
