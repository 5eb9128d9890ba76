"""Every part of the model, built and called with what it cannot take: one clear sentence each."""

import numpy as np
import pytest
import torch

from vit_course.attention import AttentionHead, SelfAttention, attention_weights
from vit_course.config import ViTConfig
from vit_course.embeddings import (
    ClassToken,
    LearnedPositions,
    RegisterTokens,
    SinCos2DPositions,
    interpolate_positions,
    sincos2d,
)
from vit_course.encoder import MLP, Encoder, EncoderBlock
from vit_course.patches import NormedPatchEmbedding, PatchEmbedding, patchify, unpatchify
from vit_course.vit import ViT

B, T, D = 2, 7, 12
PARTS = {
    AttentionHead: dict(hidden_dim=D, head_dim=4),
    SelfAttention: dict(hidden_dim=D, num_heads=3),
    MLP: dict(hidden_dim=D, mlp_dim=20),
    EncoderBlock: dict(hidden_dim=D, num_heads=3, mlp_dim=20),
    Encoder: dict(num_layers=2, hidden_dim=D, num_heads=3, mlp_dim=20),
    ClassToken: dict(hidden_dim=D),
    RegisterTokens: dict(num_registers=3, hidden_dim=D, class_token=True),
    LearnedPositions: dict(num_tokens=T, hidden_dim=D),
    SinCos2DPositions: dict(grid=(2, 3), hidden_dim=D, class_token=True),
}
EMBEDDINGS = {part: dict(patch_size=4, in_channels=3, hidden_dim=D) for part in (PatchEmbedding, NormedPatchEmbedding)}
CONFIG = ViTConfig((8, 12), 4, 5, hidden_dim=D, num_layers=2, num_heads=3, mlp_dim=20)
SIZES = [
    (part, arguments, name)
    for part, arguments in (PARTS | EMBEDDINGS).items()
    for name, value in arguments.items()
    if type(value) is int and name != "num_registers"  # of which there may be none
]
OPTIONS = [
    (AttentionHead, {"qkv_bias": "no"}, "qkv_bias must be True or False, got 'no'"),
    (SelfAttention, {"qkv_bias": 1}, "qkv_bias must be True or False, got 1"),
    (SelfAttention, {"dropout": 1.5}, "dropout must be at least 0 and less than 1, got 1.5"),
    (SelfAttention, {"attention_dropout": float("nan")}, "attention_dropout must be a number, got nan"),
    (MLP, {"dropout": -0.1}, "dropout must be at least 0 and less than 1, got -0.1"),
    (MLP, {"gelu": "exact"}, "gelu must be 'none' or 'tanh', got 'exact'"),
    (EncoderBlock, {"norm_epsilon": 0.0}, "norm_epsilon must be at least 1e-30, got 0.0"),
    (EncoderBlock, {"norm_epsilon": 1e-297}, "norm_epsilon must be at least 1e-30, got 1e-297"),
    (Encoder, {"norm_epsilon": "x"}, "norm_epsilon must be a number, got 'x'"),
    (RegisterTokens, {"num_registers": -1}, "num_registers must be at least 0, got -1"),
    (RegisterTokens, {"num_registers": 2.0}, "num_registers must be an int of at least 0, got 2.0"),
    (RegisterTokens, {"class_token": 1}, "class_token must be True or False, got 1"),
    (SinCos2DPositions, {"class_token": 1}, "class_token must be True or False, got 1"),
    (SinCos2DPositions, {"grid": (2, 0)}, r"grid must be \(rows, columns\), two ints of at least 1, got \(2, 0\)"),
    (SinCos2DPositions, {"grid": 6}, r"grid must be \(rows, columns\), two ints of at least 1, got 6"),
]
OTHER_TYPES = [torch.float64, torch.float16, torch.int64, torch.uint8, torch.bool, torch.complex64]


@pytest.fixture
def dynamo():
    """A compiler that remembers nothing: after an error it would never try the same code again, in other tests too."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("value", [0, -1, 4.0, "4", None, True, np.int64(4), 10**9])
@pytest.mark.parametrize(("part", "arguments", "name"), SIZES)
def test_sizes(part, arguments, name, value):
    with pytest.raises(ValueError, match=rf"^{name} must be (an int of )?at (least 1|most \d+), got "):
        part(**{**arguments, name: value})


@pytest.mark.parametrize(("part", "changes", "message"), OPTIONS)
def test_options(part, changes, message):
    with pytest.raises(ValueError, match=message):
        part(**{**PARTS[part], **changes})


def nested():
    return torch.nested.nested_tensor([torch.zeros(3, D), torch.zeros(4, D)], layout=torch.jagged)


SPARSE = torch.zeros(B, T, D).to_sparse()
TOKENS = [
    *((thing, "tokens must be a torch.Tensor, got (list|ndarray|NoneType|float)") for thing in ([[1.0]], None, 3.0)),
    (torch.zeros(T, D), r"tokens must have 3 axes \(B, T, D\), got shape \(7, 12\)"),
    (torch.zeros(B, 1, T, D), r"tokens must have 3 axes \(B, T, D\), got shape \(2, 1, 7, 12\)"),
    (torch.zeros(B, T, 1), "tokens have width 1, but the layer takes width 12"),
    (torch.zeros(0, T, D), r"tokens must not be empty, got shape \(0, 7, 12\)"),
    (torch.zeros(B, 0, D), r"tokens must not be empty, got shape \(2, 0, 12\)"),
    *((torch.zeros(B, T, D, dtype=dtype), f"tokens are {str(dtype)[6:]}.*(the weights are float32|convert)")
      for dtype in OTHER_TYPES),
    (SPARSE, "tokens must be a dense tensor, got a sparse_coo one"),
    (nested(), "tokens must be a dense tensor, got a nested one"),
    (torch.zeros(B, T, D, device="meta"), "tokens are on meta, but the weights on cpu: move one of them"),
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_tokens(part):
    model = part(**PARTS[part])
    for tokens, message in TOKENS:
        with pytest.raises((ValueError, TypeError), match=message):
            model(tokens)
    with torch.device("meta"):
        meta = part(**PARTS[part])
    with pytest.raises(ValueError, match="tokens are on cpu, but the weights on meta: move one of them"):
        meta(torch.zeros(B, T, D))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        *((part(**arguments), "images") for part, arguments in EMBEDDINGS.items()),
        (ViT(CONFIG), "images"),
        (lambda x: patchify(x, 4), "images"),
        (lambda x: unpatchify(x, 2, (14, 2)), "patches"),
        (lambda x: attention_weights(x, torch.zeros(B, T, D)), "queries"),
        (lambda x: attention_weights(torch.zeros(B, T, D), x), "keys"),
        (lambda x: interpolate_positions(x, (2, 3), (3, 5)), "table"),
    ],
)
def test_what_is_no_dense_tensor(call, name):
    for thing, words in (
        (SPARSE, "a dense tensor, got a sparse_coo one"),
        ([[1.0]], "a torch.Tensor, got list"),
        (None, "a torch.Tensor, got NoneType"),
    ):
        with pytest.raises((ValueError, TypeError), match=f"{name} must be {words}"):
            call(thing)


@pytest.mark.parametrize("part", [*EMBEDDINGS, ViT])
@pytest.mark.parametrize("dtype", OTHER_TYPES)
def test_types_of_images(part, dtype):
    model = part(CONFIG) if part is ViT else part(**EMBEDDINGS[part])
    word = str(dtype)[6:]
    sentence = f"images are {word}, but the weights are float32: normalise them first, as `Dataset.normalise` does"
    if dtype.is_floating_point:
        sentence = f"images are {word}, but the weights are float32: convert one of them"
    with pytest.raises(ValueError, match=sentence):
        model(torch.zeros(B, 3, 8, 12, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_a_converted_model_takes_its_own_type(dtype):
    model, images = ViT(CONFIG).to(dtype), torch.randn(B, 3, 8, 12)
    assert model(images.to(dtype)).dtype == dtype
    with pytest.raises(ValueError, match=f"images are float32, but the weights are {str(dtype)[6:]}"):
        model(images)


@pytest.mark.parametrize("changes", [{}, {"patch_norm": True, "pool": "mean", "position": "sincos2d"}])
def test_autocast_may_mix_types(changes):
    model, images = ViT(ViTConfig(**{**CONFIG.to_dict(), **changes})).eval(), torch.randn(B, 3, 8, 12)
    with torch.autocast("cpu", torch.bfloat16):
        expected = model(images)
        for dtype in (torch.bfloat16, torch.float16):
            torch.testing.assert_close(model(images.to(dtype)), expected, atol=0.02, rtol=0.02)
        with pytest.raises(ValueError, match="images are float64, but the weights are float32"):
            model(images.double())
        with pytest.raises(ValueError, match="images are uint8, but the weights are float32: normalise them first"):
            model(images.byte())


@pytest.mark.thorough
@pytest.mark.parametrize("changes", [{}, {"patch_norm": True, "pool": "mean", "position": "sincos2d"}])
@pytest.mark.parametrize("dynamic", [None, True])
def test_the_checks_compile_without_a_break(changes, dynamic, dynamo):
    model, images = ViT(ViTConfig(**{**CONFIG.to_dict(), **changes})).eval(), torch.randn(3, 3, 8, 12)
    compiled = torch.compile(model, fullgraph=True, dynamic=dynamic, backend="eager")
    for batch in (3, 2):
        torch.testing.assert_close(compiled(images[:batch]), model(images[:batch]))
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(compiled(images), model(images), atol=0.02, rtol=0.02)


@pytest.mark.slow
def test_a_compiled_model_says_the_same(dynamo):
    compiled = torch.compile(ViT(CONFIG), backend="eager")
    for images, sentence in (
        (
            torch.zeros(B, 3, 8, 12, dtype=torch.uint8),
            "images are uint8, but the weights are float32: normalise them first",
        ),
        (torch.zeros(B, 3, 8, 12, dtype=torch.float64), "images are float64, but the weights are float32"),
    ):
        with pytest.raises(ValueError, match=sentence):
            compiled(images)


def test_replaced_and_parametrised_layers_are_left_alone():
    block, x = EncoderBlock(D, 3, 20), torch.randn(B, T, D)
    block.norm1 = torch.nn.Identity()
    assert block(x).shape == x.shape

    class Counted(torch.nn.Module):
        calls = 0

        def forward(self, weight):
            self.calls += 1
            return weight

    layer, counted = SelfAttention(D, 3), Counted()
    torch.nn.utils.parametrize.register_parametrization(layer.qkv, "weight", counted)
    counted.calls = 0
    layer(x)
    assert counted.calls == 1  # such as spectral_norm, whose state changes at each reading


def zeros(*shape, **options):
    return torch.zeros(shape, **options)


@pytest.mark.parametrize(
    ("q", "k", "message"),
    [
        (zeros(5), zeros(5, 5), r"queries must have at least 2 axes \(..., T, d\), got shape \(5,\)"),
        (zeros(5, 5), zeros(5), r"keys must have at least 2 axes \(..., T, d\), got shape \(5,\)"),
        (zeros(5, 0), zeros(7, 0), r"at least 1 key of width 1 is needed, got keys of shape \(7, 0\)"),
        (zeros(5, 4), zeros(0, 4), r"at least 1 key of width 1 is needed, got keys of shape \(0, 4\)"),
        (zeros(2, 5, 4), zeros(3, 5, 4), r"leading axes of queries \(2, 5, 4\) and keys \(3, 5, 4\) must be equal"),
        (zeros(2, 1, 5, 4), zeros(3, 7, 5, 4), "leading axes"),
        (zeros(5, 4), zeros(7, 4).double(), "queries are float32, but keys are float64: convert one of them"),
        (zeros(5, 4).long(), zeros(7, 4), "queries must be floating-point numbers, got int64"),
        (zeros(5, 4), zeros(7, 4).bool(), "keys must be floating-point numbers, got bool"),
        (zeros(5, 4), zeros(7, 4, device="meta"), "queries are on cpu, but keys on meta: move one of them"),
        (zeros(5, 4), zeros(5, 6), "queries have width 4, but keys have width 6"),
    ],
)
def test_queries_and_keys(q, k, message):
    with pytest.raises(ValueError, match=message):
        attention_weights(q, k)


def test_leading_axes_that_go_together():
    assert attention_weights(torch.randn(2, 1, 5, 4), torch.randn(3, 7, 4)).shape == (2, 3, 5, 7)
    assert attention_weights(torch.randn(5, 4), torch.randn(3, 7, 4)).shape == (3, 5, 7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sincos2d((2, 3), 0), "hidden_dim must be at least 1, got 0"),
        (lambda: sincos2d((2, 3.0), 8), r"grid must be \(rows, columns\), two ints"),
        (lambda: sincos2d((2, 3), 8, 0.0), "temperature must be greater than 0, got 0.0"),
        (lambda: sincos2d((60_000, 60_000), 8), "at most 65536 each, with a product of at most 1048576"),
        (lambda: interpolate_positions(zeros(1, 7, 4), (2, 3), (0, 3)), r"new_grid must be .* got \(0, 3\)"),
        (lambda: interpolate_positions(zeros(1, 7, 4), (2, -3), (2, 3)), r"grid must be .* got \(2, -3\)"),
        (lambda: interpolate_positions(zeros(1, 7, 4), (2, 3), (4, 4), "no"), "class_token must be True or False"),
        (lambda: interpolate_positions(zeros(1, 7, 4).long(), (2, 3), (4, 4)), "table must be floating-point numbers"),
        (lambda: interpolate_positions(zeros(2, 7, 4), (2, 3), (4, 4)), r"needs a table \(1, 7, D\), got shape"),
        (lambda: interpolate_positions(zeros(1, 9, 4), (2, 3), (4, 4)), r"2 x 3 .* \(1, 7, D\), got .*\(1, 9, 4\)"),
        (lambda: interpolate_positions(zeros(1, 9, 4), (2, 3), (4, 4), False), r"\(1, 6, D\), got shape \(1, 9, 4\)"),
        (lambda: interpolate_positions(zeros(1, 7, 0), (2, 3), (4, 4)), r"got shape \(1, 7, 0\)"),
    ],
)
def test_tables_of_positions(call, message):
    with pytest.raises(ValueError, match=message):
        call()
