"""What the explorer gives a model of a picture, by whatever preprocessing, and that it shows what the model sees."""

import numpy as np
import pytest
import timm
import torch
import torchvision
import transformers
from PIL import Image
from pytest import fixture, mark, raises, warns
from sent import picture_of
from torch import nn
from torchvision.transforms import v2

from vit_course.explorer import explore, upload
from vit_course.explorer.prepared import prepare
from vit_course.maps import describe
from vit_course.pretrained import Preprocessing, Pretrained
from vit_course.pretrained.bundled import AsTrained
from vit_course.vit import ViT, ViTConfig

MEAN, STD = (0.4, 0.5, 0.6), (0.2, 0.25, 0.3)
SIZES = dict(depth=2, embed_dim=12, num_heads=2, num_classes=5, patch_size=4)
SMALL = dict(patch_size=4, num_hidden_layers=2, num_attention_heads=2, hidden_size=12, intermediate_size=20)
UNNORMALISED = "the image goes to the model as numbers from 0 to 1"


@fixture
def picture():
    """Wide, red to the left, blue to the right, brighter downwards, with a white corner that a crop leaves out."""
    pixels = np.zeros((60, 100, 3), np.uint8)
    pixels[..., 0], pixels[..., 2] = np.linspace(255, 0, 100), np.linspace(0, 255, 100)
    pixels[..., 1] = np.linspace(0, 200, 60)[:, None]
    pixels[:9, :9] = 255
    return Image.fromarray(pixels)


def timm_vit(size=16, **options):
    return timm.create_model("vit_tiny_patch16_224", pretrained=False, img_size=size, **(SIZES | options)).eval()


def huggingface_vit(size=16):
    return transformers.ViTModel(transformers.ViTConfig(image_size=size, **SMALL)).eval()


def ours(size=(16, 24), **options):
    sizes = dict(patch_size=4, num_classes=3, hidden_dim=12, num_layers=2, num_heads=2, mlp_dim=20)
    return ViT(ViTConfig(image_size=size, **(sizes | options))).eval()


def explored(model, image, preprocess=None, **options):
    """-> the explorer, and what went into the model."""
    seen = []
    inside = model.model if isinstance(model, Pretrained) else model
    hook = inside.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    try:
        return explore(model, image, preprocess, **options), seen[0]  # the second pass asks what each layer says
    finally:
        hook.remove()


def shows(explorer, given, mean, std):
    """Whether the picture in the explorer is the one in the model."""
    mean, std = (torch.tensor(values)[:, None, None] for values in (mean, std))
    expected = (given[0] * std + mean).clamp(0, 1).mul(255).round().permute(1, 2, 0)
    return np.abs(picture_of(explorer).astype(int) - expected.numpy()).max() <= 1


@mark.parametrize("kind", ["path", "picture", "bytes", "tensor"])
def test_a_timm_model_brings_its_preprocessing(picture, tmp_path, kind):
    model = timm_vit(16)
    config = timm.data.resolve_model_data_config(model) | {"input_size": (3, 16, 16)}
    expected = timm.data.create_transform(**config)(picture)[None]
    picture.save(tmp_path / "photo.png")
    pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
    image = {"path": str(tmp_path / "photo.png"), "picture": picture, "tensor": pixels}
    explorer, given = explored(model, image.get(kind, (tmp_path / "photo.png").read_bytes()))
    torch.testing.assert_close(given, expected, rtol=0, atol=1e-5)
    assert shows(explorer, given, config["mean"], config["std"])
    assert explorer._panels[0]["names"] == ["class token"] and explorer._panels[0]["rows"] == 4


def test_a_timm_model_of_oblong_images_brings_its_numbers(picture):
    model = timm_vit((16, 24))
    config = model.pretrained_cfg
    explorer, given = explored(model, picture)
    assert torch.equal(given, AsTrained((16, 24), config["mean"], config["std"])(picture))
    assert shows(explorer, given, config["mean"], config["std"])
    with raises(ValueError, match="takes images of 1 channels, but states a mean for 3 channels"):
        explore(timm_vit(in_chans=1), picture)


STEPS = [(20, 30), (16, 24)]
TRANSFORMS = {
    "torchvision": torchvision.transforms.Compose(
        [torchvision.transforms.Resize(STEPS[0]), torchvision.transforms.CenterCrop(STEPS[1]),
         torchvision.transforms.ToTensor(), torchvision.transforms.Normalize(MEAN, STD)]
    ),
    "torchvision v2": v2.Compose(
        [v2.ToImage(), v2.Resize(STEPS[0]), v2.CenterCrop(STEPS[1]), v2.ToDtype(torch.float32, scale=True),
         v2.Normalize(MEAN, STD)]
    ),
    "timm": timm.data.create_transform((3, 16, 24), mean=MEAN, std=STD, crop_pct=0.8),
    "ours": Preprocessing((20, 30), (16, 24), "bilinear", MEAN, STD),
    "as trained": AsTrained((16, 24), MEAN, STD),
}  # fmt: skip


@pytest.mark.slow
@mark.parametrize("name", TRANSFORMS)
def test_a_transform_gets_the_picture_and_the_model_what_comes_of_it(picture, name):
    transform = TRANSFORMS[name]
    expected = transform(picture)
    expected = expected[None] if expected.ndim == 3 else expected
    for model in (ours(), timm_vit((16, 24))):
        explorer, given = explored(model, picture, transform)
        assert torch.equal(given, expected) and shows(explorer, given, MEAN, STD)
    pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
    for image in (pixels, pixels / 255, pixels[None].numpy()):
        assert torch.equal(explored(ours(), image, transform)[1], expected)
    with raises(ValueError, match=r"takes a picture, .* those of the image go from -1 to 1"):
        explore(ours(), pixels / 127.5 - 1, transform)


def test_an_entry_of_torchvisions_weights(picture):
    entry = torchvision.models.ViT_B_16_Weights.IMAGENET1K_V1
    model = torchvision.models.VisionTransformer(224, 56, 2, 2, 12, 20).eval()
    explorer, given = explored(model, picture, entry)
    assert torch.equal(given, entry.transforms()(picture)[None])
    assert shows(explorer, given, entry.transforms().mean, entry.transforms().std)
    for given in (picture, np.array(picture).transpose(2, 0, 1)):
        with raises(ValueError, match=r"VisionTransformer does not say .* torchvision\.models\.ViT_B_16_Weights"):
            explore(model, given)


def test_a_processor_of_hugging_face(picture, tmp_path):
    processor = transformers.ViTImageProcessor(size={"height": 16, "width": 16}, image_mean=MEAN, image_std=STD)
    expected = processor(images=picture, return_tensors="pt")["pixel_values"]
    model = huggingface_vit()
    explorer, given = explored(model, picture, processor)
    assert torch.equal(given, expected) and shows(explorer, given, MEAN, STD)

    class Both:  # as that of CLIP, for words too
        image_processor, tokenizer = processor, None

        def __call__(self):
            raise NotImplementedError

    assert torch.equal(explored(model, picture, Both())[1], expected)
    with raises(ValueError, match=r"ViTModel does not say how .* AutoImageProcessor\.from_pretrained"):
        explore(model, picture)
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    loaded = transformers.ViTModel.from_pretrained(tmp_path)
    explorer, given = explored(loaded, picture)
    assert torch.equal(given, expected) and shows(explorer, given, MEAN, STD)


def test_what_pretrained_gives_is_taken_whole(picture):
    both = Pretrained(ours(), AsTrained((16, 24), MEAN, STD), ["a", "b", "c"])
    explorer, given = explored(both, picture)
    assert torch.equal(given, both.preprocess(picture)) and shows(explorer, given, MEAN, STD)
    assert torch.equal(explored(both, picture, lambda images: images / 100)[1].max(), torch.tensor(2.55))
    button = upload(both)
    assert button.explorer is None


def test_a_function_gets_a_batch_in_the_models_size(picture):
    seen = []

    def halve(images):
        seen.append((images.dtype, tuple(images.shape)))
        return images.float() / 2

    explored(ours(), picture, halve)
    explored(ours(), torch.randn(3, 5, 7), halve)
    assert seen == [(torch.uint8, (1, 3, 16, 24)), (torch.float32, (1, 3, 16, 24))]
    given = explored(ours(), picture, v2.Normalize(MEAN, STD))[1]
    assert given.min() < -0.5 and given.max() < 4, "from floats of 0 to 1"
    shown = prepare(ours(), picture, lambda images: images.float()[..., :8, :8].contiguous() / 255)
    assert shown.shown.shape == (3, 8, 8), "what a function crops away is not shown"
    with raises(ValueError, match=r"preprocess cannot take images \(1, 3, 16, 24\) of torch.uint8: .*convert"):
        explore(ours(), picture, lambda picture: picture.convert("L"))
    with raises(ValueError, match=r"preprocess cannot take a picture: .*Tensor"):
        explore(ours(), picture, v2.Compose([torchvision.transforms.Normalize(MEAN, STD)]))


@mark.parametrize("kind", ["ours", "timm", "transformers", "torchvision"])
def test_a_word_where_numbers_of_0_to_1_go_to_a_model_of_normalised_images(kind):
    model = {
        "ours": lambda: ours((16, 16)),
        "timm": timm_vit,
        "transformers": huggingface_vit,
        "torchvision": lambda: torchvision.models.VisionTransformer(16, 4, 2, 2, 12, 20),
    }[kind]()
    with warns(UserWarning, match=UNNORMALISED) as caught:
        explore(model, torch.rand(3, 16, 16))
    assert len(caught) == 1 and caught[0].filename == __file__
    explore(model, 2 * torch.rand(3, 16, 16) - 1)  # no word: warnings are errors here
    explore(model, torch.rand(3, 16, 16), lambda images: images)


def test_no_word_where_nobody_knows_of_normalising(picture):
    class Mine(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, 12, 8, 8)
            self.attention = nn.MultiheadAttention(12, 2, batch_first=True)

        def forward(self, images):
            return self.attention(*3 * (self.patches(images).flatten(2).mT,))[0]

    assert explore(Mine(), torch.rand(3, 16, 24), grid=(2, 3))._panels[0]["columns"] == 3
    assert explore(Mine(), picture.crop((0, 0, 40, 16)), grid=(2, 5))._panels[0]["columns"] == 5
    plain = timm_vit()
    plain.pretrained_cfg = plain.pretrained_cfg | {"mean": (0.0, 0.0, 0.0), "std": (1.0, 1.0, 1.0)}
    explore(plain, torch.rand(3, 16, 16))
    with warns(UserWarning, match=UNNORMALISED):
        explore(ours(), picture)
    button = upload(ours())
    assert "not normalised" in button._treatment


def test_a_model_without_a_head_with_registers_and_in_half_precision(picture):
    model = ours(num_classes=0, num_registers=3).to(torch.bfloat16)
    explorer = explore(model, picture, AsTrained((16, 24), MEAN, STD), query=2)
    panel = explorer._panels[0]
    assert panel["names"] == ["class token", "register 1", "register 2", "register 3"] and panel["prefix"] == 4
    assert (panel["rows"], panel["columns"], panel["tokens"]) == (4, 6, 28)
    assert "register 2" in explorer.figure().get_suptitle()


def test_registers_behind_the_patches_are_refused(picture):
    from vit_pytorch.simple_vit_with_register_tokens import SimpleViT

    model = SimpleViT(image_size=16, patch_size=4, num_classes=5, dim=12, depth=2, heads=2, mlp_dim=20)
    with raises(ValueError, match=r"nothing says where the patches lie: give grid=\(rows, columns\) and prefix="):
        explore(model, torch.randn(3, 16, 16))
    describe(SimpleViT, "transformer.layers", "0", "to_patch_embedding.0", {"register": "register_tokens"})
    image = torch.randn(3, 16, 16)
    for prefix in (None, 4, list("abcd")):  # its registers stand behind the patches, whatever is said
        with raises(ValueError, match="to show no patch, but the tokens that do are 16, 17, 18 and 1 more"):
            explore(model, image, prefix=prefix)
    with raises(ValueError, match=r"the maps have 20 tokens, but 4 x 4 patches with a, b make 18"):
        explore(model, image, grid=(4, 4), prefix=["a", "b"])
