import pytest
import torch
import torch.nn.functional as F
from conftest import cases

from vit_course.embeddings import (
    LearnedPositions,
    SinCos2DPositions,
    interpolate_positions,
    sincos2d,
)


@cases("tokens", [1, 6, 8])
@cases("layer", [LearnedPositions(7, 12), SinCos2DPositions((2, 3), 12, class_token=True)])
def test_wrong_number_of_tokens_is_never_broadcast(layer, tokens):
    with pytest.raises(ValueError, match=f"table has 7 rows, the sequence has {tokens} tokens"):
        layer(torch.zeros(5, tokens, 12))


def test_sincos_values_by_the_formula():
    table = sincos2d((2, 3), 8)
    assert table.shape == (6, 8)
    row, column, slow = 1, 2, 1e-4
    position = torch.tensor([float(column), column * slow, float(row), row * slow])
    expected = torch.cat([position[:2].sin(), position[:2].cos(), position[2:].sin(), position[2:].cos()])
    torch.testing.assert_close(table[row * 3 + column], expected)


def test_sincos_is_fixed_not_saved_and_leaves_the_class_token_alone():
    layer = SinCos2DPositions((2, 3), 8, class_token=True)
    assert list(layer.parameters()) == [] and layer.state_dict() == {}
    added = layer(torch.zeros(1, 7, 8))[0]
    assert torch.equal(added, torch.cat([torch.zeros(1, 8), sincos2d((2, 3), 8)]))
    assert SinCos2DPositions((2, 3), 8, class_token=False)(torch.zeros(1, 6, 8)).shape == (1, 6, 8)


def test_interpolation_is_bicubic_on_the_patch_rows():
    table = torch.randn(1, 25, 5)
    picture = table[:, 1:].reshape(1, 4, 6, 5).permute(0, 3, 1, 2)
    expected = F.interpolate(picture, size=(3, 8), mode="bicubic").permute(0, 2, 3, 1).reshape(1, 24, 5)
    resized = interpolate_positions(table, (4, 6), (3, 8))
    torch.testing.assert_close(resized[:, 1:], expected)
    assert torch.equal(resized[:, :1], table[:, :1])


@cases(("class_token", "needed"), [(True, 25), (False, 24)])
def test_interpolation_of_a_table_of_another_grid(class_token, needed):
    with pytest.raises(ValueError, match=rf"4 x 6 .* \(1, {needed}, D\), got shape \(1, 26, 5\)"):
        interpolate_positions(torch.zeros(1, 26, 5), (4, 6), (8, 8), class_token)


@cases("antialias", [True, False])
@cases("dtype", [torch.float16, torch.bfloat16])
def test_positions_in_half_precision_are_interpolated_in_full(dtype, antialias):
    table = torch.randn(1, 7, 4).to(dtype)
    resized = interpolate_positions(table, (2, 3), (4, 5), antialias=antialias)
    assert torch.equal(resized, interpolate_positions(table.float(), (2, 3), (4, 5), antialias=antialias).to(dtype))
