"""What is computed from attention maps, and the controls that it is held against."""

import pytest
import torch

from vit_course.config import ViTConfig
from vit_course.maps.controls import permute_labels, random_weights, shuffle_patches
from vit_course.maps.interpret import (
    attention_distance,
    mask_score,
    mean_and_error,
    patch_part,
    pointing_game,
    relevance,
    rollout,
)
from vit_course.vit import ViT

B, L, h, GRID = 2, 3, 4, (2, 3)
N, T = 6, 7


def random_maps():
    return torch.randn(B, L, h, T, T).softmax(-1)


def test_rollout_rows_sum_to_one_and_follow_the_layers_in_order():
    maps = random_maps()
    flow = rollout(maps)
    assert flow.shape == (B, T, T)
    torch.testing.assert_close(flow.sum(-1), torch.ones(B, T))
    layers = [0.5 * maps[:, i].mean(1) + 0.5 * torch.eye(T) for i in range(L)]
    torch.testing.assert_close(flow, layers[2] @ layers[1] @ layers[0])


def test_distance_of_a_diagonal_map_is_zero_and_by_hand():
    assert attention_distance(torch.eye(T).expand(B, L, h, T, T), GRID, 4).eq(0).all()
    maps = torch.zeros(1, 1, 1, N, N)
    maps[..., 0] = 1  # all look at the patch at the top left
    away = [0, 1, 2, 1, 2**0.5, 5**0.5]
    assert attention_distance(maps, GRID, 4).item() == pytest.approx(4 * sum(away) / N)


def test_the_class_token_is_left_out_and_registers_where_their_number_is_given():
    maps = random_maps()
    assert torch.equal(patch_part(maps, GRID), maps[..., 1:, 1:])
    without = torch.randn(B, L, h, N, N).softmax(-1)
    assert torch.equal(patch_part(without, GRID), without)
    maps = torch.randn(B, L, h, N + 4, N + 4).softmax(-1)
    assert torch.equal(patch_part(maps, GRID, 4), maps[..., 4:, 4:])
    alone = maps[..., 4:, 4:] / maps[..., 4:, 4:].sum(-1, keepdim=True)
    torch.testing.assert_close(attention_distance(maps, GRID, 4, num_prefix=4), attention_distance(alone, GRID, 4))


def test_mask_score_inside_outside_and_uniform():
    mask = torch.zeros(8, 12, dtype=torch.bool)
    mask[:4, 4:8] = True  # exactly patch (0, 1)
    inside, outside, uniform = torch.zeros(2, 3), torch.ones(2, 3), torch.ones(2, 3)
    inside[0, 1], outside[0, 1] = 3.0, 0.0
    assert mask_score(inside, mask) == 1 and mask_score(outside, mask) == 0
    assert mask_score(uniform, mask).item() == pytest.approx(mask.float().mean().item())
    mask[2:4, 4:8] = False  # half of the patch
    assert mask_score(inside, mask).item() == pytest.approx(0.5)


def test_relevance_by_hand():
    maps, gradients = random_maps(), torch.randn(B, L, h, T, T)
    found = relevance(maps, gradients)
    for image in range(B):
        expected = torch.eye(T)
        for layer in range(L):
            rise = sum((maps[image, layer, head] * gradients[image, layer, head]).relu() for head in range(h)) / h
            expected = expected + rise @ expected
        torch.testing.assert_close(found[image], expected)
    assert torch.equal(relevance(maps, -torch.ones_like(maps)), torch.eye(T).expand(B, T, T))


def test_pointing_game_asks_for_the_centre_of_the_largest_patch():
    mask = torch.zeros(2, 8, 12, dtype=torch.bool)
    mask[0, 2, 6] = True  # the centre of patch (0, 1)
    mask[1, 0:2, 4:8] = True  # part of the same patch, without its centre
    map = torch.zeros(2, 2, 3)
    map[:, 0, 1] = 1.0
    assert pointing_game(map, mask).tolist() == [True, False]
    map[0, 1, 2] = 2.0
    assert pointing_game(map, mask).tolist() == [False, False]
    assert pointing_game(map[:, None].expand(-1, 4, -1, -1), mask[:, None]).shape == (2, 4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_distance_in_half_precision(dtype):
    maps = torch.randn(B, L, h, T, T).softmax(dim=-1)
    half = attention_distance(maps.to(dtype), GRID, 4)
    assert half.dtype == dtype
    torch.testing.assert_close(half.float(), attention_distance(maps, GRID, 4), atol=0.1, rtol=0.02)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_rows_of_every_precision_are_taken(dtype):
    many = (3 * torch.randn(1, 2, 3, 197, 197)).softmax(dim=-1).to(dtype)
    assert rollout(many).shape == (1, 197, 197) and patch_part(many, (14, 14)).dtype == dtype


# ---- what cannot be computed with
MAPS = torch.full((B, L, h, T, T), 1 / T)
TAKE_MAPS = {
    "rollout": rollout,
    "relevance": lambda maps: relevance(maps, MAPS),
    "attention_distance": lambda maps: attention_distance(maps, GRID, 4),
    "patch_part": lambda maps: patch_part(maps, GRID),
}


def with_nan(x):
    return x.index_fill(-1, torch.tensor([2]), float("nan"))


@pytest.mark.parametrize("name", TAKE_MAPS)
@pytest.mark.parametrize(
    ("maps", "error", "message"),
    [
        (MAPS.tolist(), TypeError, "maps must be a torch.Tensor, got list"),
        (MAPS[0], ValueError, r"maps must be \(B, L, h, T, T\), got shape \(3, 4, 7, 7\)"),
        (MAPS[:0], ValueError, r"maps must be \(B, L, h, T, T\), got shape \(0, 3, 4, 7, 7\)"),
        (MAPS[..., 1:], ValueError, r"got shape \(2, 3, 4, 7, 6\)"),
        (MAPS.long(), ValueError, "maps must be floating-point numbers, got int64"),
        (with_nan(MAPS), ValueError, "maps must be finite, but 168 of 1176 numbers are NaN or infinite"),
        (
            2 * MAPS,
            ValueError,
            "each row of maps must sum to 1 .* 168 of 168 rows do not: the sums go from 2 to 2, and the",
        ),
        (MAPS.half() * 0.97, ValueError, "168 of 168 rows do not: the sums go from 0.97 to 0.97"),
        (
            torch.eye(T) - torch.eye(T).roll(1, 0) + MAPS,
            ValueError,
            "168 of 168 rows do not: .*the smallest number is -0",
        ),
        (torch.zeros(B, L, h, T, T), ValueError, "the sums go from 0 to 0"),
        (MAPS.to("meta"), ValueError, "maps must hold numbers, got a tensor on the device meta"),
    ],
)
def test_maps_that_are_none(name, maps, error, message):
    with pytest.raises(error, match=message):
        TAKE_MAPS[name](maps)


IMAGES, ORDER = torch.zeros(2, 3, 8, 12), torch.arange(6).repeat(2, 1)
CLASS_TOKEN_ALONE = MAPS.clone()
CLASS_TOKEN_ALONE[1, 2, 3, 4] = torch.eye(T)[0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: relevance(MAPS, None), TypeError, "gradients must be a torch.Tensor, got NoneType"),
        (
            lambda: relevance(MAPS, MAPS.double()),
            ValueError,
            "maps are float32, but gradients are float64: convert one",
        ),
        (lambda: relevance(MAPS, MAPS[..., 1:]), ValueError, r"gradients have shape \(2, 3, 4, 7, 6\)"),
        (lambda: relevance(MAPS, MAPS.long()), ValueError, "gradients must be floating-point numbers, got int64"),
        (lambda: relevance(MAPS, with_nan(MAPS)), ValueError, "gradients must be finite, but 168 of 1176"),
        (lambda: patch_part(MAPS, (0, 6)), ValueError, r"grid must be \(rows, columns\), two ints of at least 1, got "),
        (lambda: attention_distance(MAPS, 6, 4), ValueError, r"grid must be \(rows, columns\), two ints"),
        (lambda: patch_part(MAPS, (2, 4)), ValueError, "2 x 4 has 8 or 9 tokens, but the maps have 7"),
        (lambda: patch_part(MAPS, GRID, 3), ValueError, "after 3 other tokens makes 9 tokens, but the maps have 7"),
        (lambda: patch_part(MAPS, GRID, -1), ValueError, "num_prefix must be at least 0, got -1"),
        (lambda: attention_distance(MAPS, GRID, 0), ValueError, "patch_size must be at least 1, got 0"),
        (
            lambda: attention_distance(CLASS_TOKEN_ALONE, GRID, 4),
            ValueError,
            "must give some patch attention, but 1 of 144 rows",
        ),
        (lambda: mask_score(-torch.ones(2, 3), torch.ones(8, 12).bool()), ValueError, "not be negative, but 6 of 6"),
        (
            lambda: mask_score(torch.zeros(4, 2, 3), torch.ones(4, 8, 12).bool()),
            ValueError,
            "0 everywhere, but it is in 4 of 4",
        ),
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
def test_what_cannot_be_computed(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("score", [mask_score, pointing_game])
@pytest.mark.parametrize(
    ("map", "mask", "error", "message"),
    [
        ([[1.0]], torch.ones(8, 12).bool(), TypeError, "map must be a torch.Tensor, got list"),
        (torch.ones(2, 3), [[True]], TypeError, "mask must be a torch.Tensor, got list"),
        (torch.ones(2, 3), torch.ones(8, 12), ValueError, "mask must be torch.bool, .* got torch.float32"),
        (torch.ones(3), torch.ones(8, 12).bool(), ValueError, r"map must have at least 2 axes.* got shape \(3,\)"),
        (torch.ones(2, 3), torch.ones(0, 12).bool(), ValueError, r"mask must have .* got shape \(0, 12\)"),
        (
            torch.ones(2, 3),
            torch.ones(8, 13).bool(),
            ValueError,
            "must be a multiple of the map, 2 x 3, in height and width, got 8 x 13",
        ),
        (torch.ones(5, 2, 3), torch.ones(4, 8, 12).bool(), ValueError, r"\(5, 2, 3\) and masks of shape \(4, 8, 12\)"),
        (with_nan(torch.ones(2, 3)), torch.ones(8, 12).bool(), ValueError, "map must be finite, but 2 of 6"),
        (torch.ones(2, 3), torch.ones(8, 12, device="meta").bool(), ValueError, "map is on cpu, but the mask on meta"),
    ],
)
def test_maps_and_masks(score, map, mask, error, message):
    with pytest.raises(error, match=message):
        score(map, mask)


def test_one_map_beside_several_masks():
    map, masks = torch.rand(2, 3), torch.rand(5, 8, 12) > 0.5
    assert mask_score(map, masks).shape == pointing_game(map, masks).shape == (5,)
    assert pointing_game(map, masks)[3] == pointing_game(map, masks[3])
    torch.testing.assert_close(mask_score(map, masks)[3], mask_score(map, masks[3]))


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


def test_the_error_of_a_mean_over_pictures_counts_each_picture_once():
    per_picture = torch.randn(6, 3, 4)
    mean, error = mean_and_error(per_picture)
    torch.testing.assert_close(error, ((per_picture - mean).square().sum(dim=0) / 5 / 6).sqrt())
    repeated = per_picture[:, None].expand(6, 50, 3, 4)  # fifty numbers of each picture that say the same
    torch.testing.assert_close(mean_and_error(repeated.mean(dim=1))[1], error)
    assert mean_and_error(torch.ones(1))[1].isnan()
    for wrong in (torch.ones(0, 3), torch.tensor(1.0)):
        with pytest.raises(ValueError, match=r"per_picture must be \(B, ...\) with at least one picture"):
            mean_and_error(wrong)
