"""What a model says of its images and classes: also inside a known wrapper, and not inside a class of one's own."""

import copy

import numpy as np
import pytest
import torch
import torchvision
import transformers
from PIL import Image
from published import shaken
from torch import nn
from wrappers import (
    THINGS,
    WRAPPERS,
    Adapted,
    Around,
    Flipped,
    Grey,
    NewHead,
    Normalised,
    Passing,
    PeftModel,
    Tiled,
    Two,
    huggingface,
    timm_vit,
)  # fmt: skip

from vit_course.explorer import explore, upload
from vit_course.explorer.prepared import prepare
from vit_course.maps import controls, effects
from vit_course.maps.models.statements import Statements
from vit_course.vit import ViT, ViTConfig

PICTURE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (60, 100, 3), np.uint8))


def said(model, **options):
    """-> the words and where they come from, or None."""
    says = explore(model, torch.randn(3, 48, 48), **options)._panels[0]["says"]
    return says and (set(says["labels"]), says["about"])


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_that_changes_nothing_says_what_the_model_inside_says(name):
    plain = timm_vit()
    expected = prepare(plain, PICTURE, None)
    model = WRAPPERS[name](copy.deepcopy(plain)).eval()
    before = {module: dict(vars(module)) for module in model.modules()}
    found = prepare(model, PICTURE, None)
    assert found.given.shape == (1, 3, 48, 48) and torch.equal(found.given, expected.given)
    assert Statements(model).image_size == (48, 48) and Statements(model).num_classes == 1000
    assert {module: dict(vars(module)) for module in model.modules()} == before, "nothing of the test run is left"
    words, about = said(model)
    assert words < set(Statements(plain).labels) and about == "the model's own head, for 1000 classes"
    assert "as its preprocessing crops it" in upload(model)._treatment


def test_in_a_process_group():
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        model = nn.parallel.DistributedDataParallel(timm_vit())
        assert prepare(model.eval(), PICTURE, None).given.shape == (1, 3, 48, 48)
        assert said(model)[0] < set(Statements(timm_vit()).labels)
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("wrap", [nn.DataParallel, PeftModel], ids=lambda wrap: wrap.__name__)
def test_hugging_faces_processor_and_words_are_found_inside(wrap, tmp_path):
    processor = transformers.ViTImageProcessor(size={"height": 48, "width": 48}, image_mean=[0.3] * 3)
    huggingface().save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    model = wrap(transformers.ViTForImageClassification.from_pretrained(tmp_path).eval())
    expected = processor(images=PICTURE, return_tensors="pt")["pixel_values"]
    assert torch.equal(prepare(model, PICTURE, None).given, expected)
    words, about = said(model)
    assert words < set(THINGS.values()) and about == "the model's own head, for 12 classes"


# Classes of somebody's own around a model, which may do anything to its images and its output.
AROUND = {
    "nothing": Around,
    "passes on what the model inside says": Passing,
    "normalised": Normalised,
    "a list": lambda model: nn.Sequential(torchvision.transforms.Normalize([0.5] * 3, [0.2] * 3), model),
    "tiles": Tiled,
    "augmented": Flipped,
    "grey": Grey,
    "a head": lambda model: NewHead(model, 10, num_classes=10),
}


@pytest.mark.parametrize("name", AROUND)
def test_around_a_model_its_preprocessing_is_asked_for(name):
    model = AROUND[name](timm_vit())
    inside = next(path for path, module in model.named_modules() if type(module).__name__ == "VisionTransformer")
    asked = (
        f"{type(model).__name__} is a class around VisionTransformer, at {inside}, and may change its images or its "
        "output, .*: give preprocess="
    )
    for asks in (lambda: explore(model, PICTURE), lambda: upload(model)):
        with pytest.raises(ValueError, match=asked):
            asks()
    assert Statements(model).image_size is None and Statements(model).timm_config is None
    assert Statements(model).labels is None
    size = 96 if name == "tiles" else 48
    if name not in ("tiles", "augmented"):  # which look at the picture several times
        explore(model, torch.rand(1 if name == "grey" else 3, size, size))  # no warning


def test_classes_of_a_new_head_have_numbers():
    for model in (NewHead(timm_vit(), 10, num_classes=10), NewHead(huggingface(), 10, num_classes=10)):
        assert all(word.startswith("class ") for word in said(model)[0])
        assert said(model, labels=list("abcdefghij"))[0] < set("abcdefghij")
    assert said(NewHead(timm_vit(), 10)) is None, "they may be an embedding"


def test_a_head_put_in_place_of_the_models_own():
    model = huggingface()
    model.classifier = nn.Linear(12, 10)
    words, about = said(model)
    assert words <= {f"class {index}" for index in range(10)}
    assert about.endswith("for 10 classes, which are numbered because the known names are those of 12 other classes")
    model = timm_vit()
    model.head = nn.Linear(12, 10)
    assert said(model) is None, "its num_classes are another number"
    model.num_classes = 10
    assert said(model)[0] <= {f"class {index}" for index in range(10)}
    model = timm_vit()
    model.pretrained_cfg = model.pretrained_cfg | {"num_classes": 21843}  # of the weights, whose head was left out
    assert Statements(model).labels is None


def test_words_of_an_entry_of_torchvisions_weights():
    entry = torchvision.models.ViT_B_16_Weights.IMAGENET1K_V1
    model = shaken(torchvision.models.VisionTransformer(224, 112, 2, 2, 12, 20))
    image = torch.rand(3, 48, 48)
    for whole, known in ((model, True), (Around(model, num_classes=1000), False)):
        words = explore(whole, image, preprocess=entry)._panels[0]["says"]["labels"]
        assert (set(words) < set(entry.meta["categories"])) == known
    model.heads = nn.Linear(12, 10)
    model.num_classes = 10
    assert explore(model, image, preprocess=entry)._panels[0]["says"]["labels"][0].startswith("class ")


def test_two_backbones_are_not_confused():
    model = Two(timm_vit(), timm_vit(patch_size=16))
    with pytest.raises(ValueError, match="Two holds several Vision Transformers, one, other: give one of them"):
        explore(model, torch.randn(3, 48, 48))
    assert Statements(model).labels is None and Statements(model).image_size is None


def test_of_our_model():
    ours = ViT(ViTConfig(image_size=(16, 24), patch_size=4, num_classes=3, hidden_dim=12, num_layers=2, num_heads=2,
                         mlp_dim=20)).eval()  # fmt: skip
    parallel = Statements(nn.DataParallel(ours))
    assert (parallel.image_size, parallel.num_classes) == ((16, 24), 3)
    with pytest.warns(UserWarning, match=r"numbers from 0 to 1, .*pretrained\.load_run"):
        explore(nn.DataParallel(ours), torch.rand(3, 16, 24))
    assert Statements(Tiled(ours)).image_size is None


def test_the_explorer_shows_one_or_three_channels():
    model = timm_vit(in_chans=4)
    for image in (PICTURE, torch.randn(4, 48, 48)):
        with pytest.raises(ValueError, match="shows pictures of 1 or 3 channels, but VisionTransformer takes 4"):
            explore(model, image)
    grey = explore(timm_vit(in_chans=1), PICTURE, preprocess=lambda images: images / 255)._panels[0]
    assert grey["layers"] == 2


def test_controls_and_effects_take_wrapped_models():
    plain, image = timm_vit(), torch.randn(1, 3, 48, 48)
    expected = effects(plain, image, progress=False).values
    for name in ("parallel", "compiled", "adapters"):
        model = WRAPPERS[name](copy.deepcopy(plain)).eval()
        if name == "adapters":  # which begin at 0
            for layer in (module for module in model.modules() if isinstance(module, Adapted)):
                nn.init.zeros_(layer.lora_B["default"].weight)
        torch.testing.assert_close(effects(model, image, progress=False).values, expected)
        with torch.no_grad(), torch.compiler.set_stance("force_eager"):
            assert not torch.allclose(controls.random_weights(model)(image), model(image))
