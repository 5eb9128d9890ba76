"""The layers of the model, one by one: patches, embeddings and attention."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from vit_course import attention
from vit_course.attention import AttentionHead, SelfAttention
from vit_course.embeddings import LearnedPositions, SinCos2DPositions, interpolate_positions, sincos2d
from vit_course.patches import PatchEmbedding, patchify, unpatchify


def test_patchify_by_hand():
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    expected = [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    assert patchify(image, 2).tolist() == [expected]


@pytest.mark.parametrize(("height", "width", "patch_size"), [(8, 12, 4), (12, 8, 2), (6, 10, 1), (15, 5, 5)])
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


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("cut", [lambda x: patchify(x, 4), PatchEmbedding(4, 3, 7)])
def test_images_that_cannot_be_cut(shape, message, cut):
    with pytest.raises(ValueError, match=message):
        cut(torch.zeros(shape))


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("tokens", [1, 6, 8])
@pytest.mark.parametrize("layer", [LearnedPositions(7, 12), SinCos2DPositions((2, 3), 12, class_token=True)])
def test_wrong_number_of_tokens_is_never_broadcast(layer, tokens):
    with pytest.raises(ValueError, match=f"table has 7 rows, but the sequence has {tokens} tokens"):
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


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_positions_in_half_precision_are_interpolated_in_full(dtype, antialias):
    table = torch.randn(1, 7, 4).to(dtype)
    resized = interpolate_positions(table, (2, 3), (4, 5), antialias=antialias)
    assert torch.equal(resized, interpolate_positions(table.float(), (2, 3), (4, 5), antialias=antialias).to(dtype))


B, T, D, h = 2, 5, 12, 3
d = D // h


def test_loop_of_heads_equals_fused_equals_torch():
    layer = SelfAttention(D, h).eval()
    x = torch.randn(B, T, D)
    outputs, maps = [], []
    for i in range(h):
        head = AttentionHead(D, d)
        for j, part in enumerate((head.query, head.key, head.value)):
            rows = slice(j * D + i * d, j * D + (i + 1) * d)
            part.weight.data, part.bias.data = layer.qkv.weight.data[rows], layer.qkv.bias.data[rows]
        out, weights = head(x)
        assert out.shape == (B, T, d) and weights.shape == (B, T, T)
        outputs.append(out)
        maps.append(weights)
    by_loop = layer.projection(torch.cat(outputs, dim=-1))
    theirs = nn.MultiheadAttention(D, h, batch_first=True).eval()
    theirs.in_proj_weight.data, theirs.in_proj_bias.data = layer.qkv.weight.data, layer.qkv.bias.data
    theirs.out_proj.load_state_dict(layer.projection.state_dict())
    by_torch, torch_maps = theirs(x, x, x, average_attn_weights=False)
    torch.testing.assert_close(layer(x), by_loop, atol=1e-6, rtol=0)
    torch.testing.assert_close(layer(x), by_torch, atol=1e-6, rtol=0)
    torch.testing.assert_close(layer.weights(x), torch.stack(maps, dim=1), atol=1e-6, rtol=0)
    torch.testing.assert_close(layer.weights(x), torch_maps, atol=1e-6, rtol=0)
    assert AttentionHead(D, d, qkv_bias=False).query.bias is None


@pytest.mark.parametrize("limit", [0, 10_000])
def test_explicit_and_fused_path_give_the_same_numbers_and_gradients(limit, monkeypatch):
    layer = SelfAttention(D, h, attention_dropout=0.5).eval()
    x = torch.randn(B, T, D)
    q, k, v = layer.split_heads(x)
    expected = layer.projection(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, T, D))
    gradient = torch.autograd.grad(expected.square().sum(), layer.qkv.weight)[0]
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", limit)
    out = layer(x)
    torch.testing.assert_close(out, expected, atol=1e-6, rtol=0)
    torch.testing.assert_close(torch.autograd.grad(out.square().sum(), layer.qkv.weight)[0], gradient)


def test_long_sequences_take_the_fused_path(monkeypatch):
    calls = []
    fused = F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *a, **k: calls.append(1) or fused(*a, **k))
    layer = SelfAttention(D, h)
    layer(torch.randn(1, attention.EXPLICIT_TOKENS, D))
    assert len(calls) == 0
    layer(torch.randn(1, attention.EXPLICIT_TOKENS + 1, D))
    assert len(calls) == 1


@pytest.mark.parametrize("limit", [0, 10_000])
@pytest.mark.parametrize("rates", [{"dropout": 0.5}, {"attention_dropout": 0.5}])
def test_dropout_only_in_training(rates, limit, monkeypatch):
    monkeypatch.setattr(attention, "EXPLICIT_TOKENS", limit)
    layer = SelfAttention(D, h, **rates)
    x = torch.randn(B, T, D)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))
