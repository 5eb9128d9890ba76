"""The pixels that are told for a patch are those whose change reaches its token, for models of every library."""

import pytest
import timm
import torch
import torchvision
import transformers
from architectures import torchvision_vit
from test_token_order import Layer, Tutorial, usual
from torch import nn
from vit_pytorch import ViT as OfVitPytorch
from vit_pytorch.vit_for_small_dataset import ViT as ShiftedPatches

from vit_course.maps import Tokens, describe, record_attention
from vit_course.maps.models.description import need_description
from vit_course.vit import ViT, ViTConfig

SMALL = dict(depth=2, embed_dim=24, num_heads=2, num_classes=5)
HF = dict(num_hidden_layers=2, num_attention_heads=2, hidden_size=24, intermediate_size=20)


def timms(name, **options):
    return timm.create_model(name, pretrained=False, **(SMALL | options))


def of_vit_pytorch(kind):
    sizes = dict(image_size=32, patch_size=8, num_classes=5, dim=24, depth=2, heads=2, mlp_dim=20)
    return kind(**sizes)


class Unfolded(Tutorial):
    """Patches cut by nn.Unfold, and overlapping."""

    def __init__(self):
        super().__init__(usual)
        self.projection = nn.Sequential(nn.Unfold((8, 6), stride=(8, 4)), nn.Flatten(2), Turned(), nn.Linear(144, 24))

    def forward(self, images):
        x = usual(self.projection(images), self.start.expand(len(images), -1, -1), None)
        for layer in self.layers:
            x = layer(x)
        return x[:, 0]


class Turned(nn.Module):
    def forward(self, x):
        return x.mT


class Sized(nn.Module):
    """A tutorial's model that takes any size: its projection is a convolution with these arguments."""

    def __init__(self, *projection, before=None, mixed=False, **more):
        super().__init__()
        self.projection = nn.Conv2d(3, 24, *projection, **more)
        self.start = nn.Parameter(torch.randn(1, 1, 24))
        self.layers = nn.ModuleList(Layer(24) for _ in range(2))
        self.before, self.mixed = before, mixed

    def forward(self, images):
        if self.before:
            images = self.before(images)
        patches = self.projection(images).flatten(2).mT
        if self.mixed:
            patches = patches + patches.roll(1, 1)
        x = usual(patches, self.start.expand(len(images), -1, -1), None)
        for layer in self.layers:
            x = layer(x)
        return x[:, 0]


describe(Sized, "layers", "attn", "projection", {"class token": "start"})
describe(ShiftedPatches, "transformer.layers", "0", "to_patch_embedding", {"class token": "cls_token"})


def dinov2():
    return timms("vit_small_patch14_dinov2", img_size=(66, 80))


# A model, the (H, W) of its images, the grid, the area of the grid, and how many pixels no patch sees.
ROWS = {
    "timm DINOv2": (dinov2, (66, 80), (4, 5), (0, 0, 56, 70), 66 * 80 - 56 * 70),
    "timm, padded": (lambda: timms("vit_tiny_patch16_224", img_size=48, patch_size=8, dynamic_img_size=True,
                                   dynamic_img_pad=True), (43, 50), (6, 7), (0, 0, 48, 56), 0),
    "timm NaFlex": (lambda: timms("naflexvit_base_patch16_gap"), (64, 96), (4, 6), (0, 0, 64, 96), 0),
    "torchvision": (torchvision_vit, (21, 21), (3, 3), (0, 0, 21, 21), 0),
    "Hugging Face DINOv2": (
        lambda: transformers.Dinov2Model(transformers.Dinov2Config(**HF, image_size=28, patch_size=7)),
        (33, 39), (4, 5), (0, 0, 28, 35), 33 * 39 - 28 * 35,
    ),
    "Hugging Face ViTPose, padded by 2 on each side": (
        lambda: transformers.VitPoseBackbone(
            transformers.VitPoseBackboneConfig(**HF, image_size=[42, 28], patch_size=[7, 7])
        ),
        (42, 28), (6, 4), (-2, -2, 40, 26), 42 * 28 - 40 * 26,
    ),
    "vit-pytorch": (lambda: of_vit_pytorch(OfVitPytorch), (32, 32), (4, 4), (0, 0, 32, 32), 0),
    "ours": (
        lambda: ViT(ViTConfig(image_size=(8, 12), patch_size=4, num_classes=3, hidden_dim=12, num_layers=2, num_heads=2,
                              mlp_dim=20)),
        (8, 12), (2, 3), (0, 0, 8, 12), 0,
    ),
    "overlapping": (lambda: Sized(16, 12), (52, 45), (4, 3), (2, 2, 50, 38), 5 * 52),
    "overlapping, padded": (lambda: Tutorial(usual, kernel=24), (48, 32), (6, 4), (0, 0, 48, 32), 0),
    "overlapping in one direction, by nn.Unfold": (Unfolded, (48, 31), (6, 7), (0, 1, 48, 29), 48),
    "padding in a word, as in SigLIP": (lambda: Sized(8, 8, "valid"), (35, 29), (4, 3), (0, 0, 32, 24), 247),
    "with gaps": (lambda: Sized(6, 8), (32, 23), (4, 3), (0, 0, 32, 24), 32 * 23 - 24 * 18),
}  # fmt: skip


def reach(model, size):
    """-> (T, H, W): whether the gradient of a token, as it enters the first layer, reaches a pixel."""
    image = torch.randn(1, 3, *size, requires_grad=True)
    arrived = []
    first = next(iter(need_description(model).attention[0].values()))
    hook = first.register_forward_pre_hook(
        lambda _, args, kwargs: arrived.append([*args, *kwargs.values()][0]), with_kwargs=True
    )
    model(image)
    hook.remove()
    one = arrived[0][0] @ torch.randn(arrived[0].shape[-1])  # (T,)
    return torch.stack(
        [
            torch.autograd.grad(each, image, retain_graph=True, materialize_grads=True)[0][0].abs().amax(0) > 0
            for each in one
        ]
    )


def recorded_tokens(model, size, **options):
    with torch.no_grad(), record_attention(model) as recorded:
        model(torch.randn(1, 3, *size))
    return recorded.tokens(**options)


@pytest.mark.parametrize("name", ROWS)
def test_the_pixels_of_each_patch_are_those_that_reach_its_token(name):
    make, size, grid, area, unseen = ROWS[name]
    torch.manual_seed(0)
    model = make().eval()
    tokens = recorded_tokens(model, size)
    assert (tokens.grid, tokens.area) == (grid, area)
    found = reach(model, size)
    assert int((~found[tokens.num_prefix :].any(0)).sum()) == int(tokens.geometry.unseen().sum()) == unseen
    for token, reached in enumerate(found):
        told = torch.zeros(size, dtype=torch.bool)
        if (box := tokens.pixels(token)) is not None:
            told[box[0] : box[2], box[1] : box[3]] = True
        assert (box is None) == (token < tokens.num_prefix) and torch.equal(reached, told)


def test_a_dilated_patch_is_told_by_the_box_around_it():
    torch.manual_seed(0)
    model = Sized(4, 7, 0, 2).eval()
    tokens, found = recorded_tokens(model, (32, 39)), reach(model, (32, 39))
    assert tokens.grid == (4, 5)
    for token in range(1, 21):
        places = found[token].nonzero()
        (top, left), (bottom, right) = places.amin(0).tolist(), (places.amax(0) + 1).tolist()
        assert tokens.pixels(token) == (top, left, bottom, right) and len(places) == 16


# What is known of these is where the cells are drawn, and not what their patches see.
UNKNOWN = {
    "a stem of several convolutions": lambda: timm.create_model("vit_tiny_r_s16_p8_224", img_size=(64, 96), **SMALL),
    "torchvision's stem": lambda: torchvision.models.VisionTransformer(
        32, 8, 2, 2, 24, 20, num_classes=5,
        conv_stem_configs=[torchvision.models.vision_transformer.ConvStemConfig(12, 3, 2)] * 3,
    ),
    "shifted patches": lambda: of_vit_pytorch(ShiftedPatches),
    "patches mixed before the first layer": lambda: Sized(8, 8, mixed=True),
    "padding that repeats pixels": lambda: Sized(8, 8, 2, padding_mode="replicate"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_known_is_not_told(name):
    torch.manual_seed(0)
    size = (64, 96) if "several" in name else (32, 32)
    tokens = recorded_tokens(UNKNOWN[name]().eval(), size)
    assert tokens.pixels(tokens.num_prefix) is None and not tokens.geometry.unseen().any()
    assert tokens.area == ((-2, -2, 30, 30) if "padding" in name else (0, 0, *size))


# What a model does with its images without saying so.
ELSEWHERE = {
    "shifted by one pixel": (lambda x: x.roll(1, 3), (32, 32)),
    "resized to a size that gives as many patches": (
        lambda x: nn.functional.interpolate(x, (32, 32), mode="bilinear"),
        (36, 36),
    ),
    "with what lies at the edge": (
        lambda x: x[:, :, :32, :32] + x[:, :, 32:, 32:].mean((2, 3), keepdim=True),
        (36, 36),
    ),
    "cropped at the centre": (lambda x: x[:, :, 2:34, 2:34], (36, 36)),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_patches_that_lie_elsewhere_are_refused(name):
    before, size = ELSEWHERE[name]
    torch.manual_seed(0)
    model = Sized(8, 8, before=before).eval()
    with pytest.raises(
        ValueError, match=r"Sized was tested: in an image of .. x .. its patches of 8 x 8 pixels do not lie"
    ):
        recorded_tokens(model, size)
    if size == (36, 36):
        assert recorded_tokens(Sized(8, 8).eval(), size).area == (0, 0, 32, 32)


def test_images_that_are_normalised_inside_are_served():
    torch.manual_seed(0)
    model = Sized(8, 8, before=lambda x: (x - x.mean((1, 2, 3), keepdim=True)) / x.std((1, 2, 3), keepdim=True)).eval()
    tokens = recorded_tokens(model, (36, 36))
    assert tokens.area == (0, 0, 32, 32) and tokens.pixels(1) is None


def test_a_grid_that_does_not_follow_from_the_model_has_equal_shares():
    model = Sized(8, 8, before=lambda x: nn.functional.interpolate(x, (32, 24), mode="nearest")).eval()
    tokens = recorded_tokens(model, (64, 72), grid=[4, 3])
    assert tokens.area == (0, 0, 64, 72) and tokens.pixels(1) is None
    assert Tokens((), (2, 3)).pixels(0) is None and Tokens((), (2, 3)).area is None, "no model was asked"
    with pytest.raises(IndexError, match="there is no token 13, only tokens 0 to 12"):
        tokens.pixels(13)


def test_a_padded_image_is_told_by_its_grid():
    # The model pads at the bottom and at the right, and only the number of its patches says so.
    model = Sized(8, 8, before=lambda x: nn.functional.pad(x, (0, 4, 0, 4))).eval()
    tokens = recorded_tokens(model, (36, 36), grid=(5, 5))
    assert tokens.area == (0, 0, 40, 40) and tokens.pixels(25) == (32, 32, 36, 36)
