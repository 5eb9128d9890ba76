"""Small models of the libraries, and what people put around a model: by name, and as classes of their own."""

import timm
import torch
import transformers
from published import shaken
from torch import nn
from torch.optim.swa_utils import AveragedModel

SIZES = dict(patch_size=8, depth=2, embed_dim=12, num_heads=2)
HF = dict(patch_size=8, num_hidden_layers=2, num_attention_heads=2, hidden_size=12, intermediate_size=20)
THINGS = {str(number): f"thing {number}" for number in range(12)}  # as a config.json has them


def timm_vit(size=48, **options):
    model = timm.create_model("vit_tiny_patch16_224", pretrained=False, img_size=size, **(SIZES | options))
    return shaken(model).eval()


def huggingface(size=48, **options):
    config = transformers.ViTConfig(image_size=size, **HF, id2label=THINGS, **options)
    return shaken(transformers.ViTForImageClassification(config)).eval()


class Around(nn.Module):
    """Somebody's own class around a model, which may have an own `config`, number of classes and `__getattr__`."""

    def __init__(self, net, **own):
        super().__init__()
        self.net = net
        for name, value in own.items():
            setattr(self, name, value)

    def forward(self, images):
        return self.net(images)


class Passing(Around):
    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("net"), name)


class Adapted(nn.Module):
    """A linear layer with an adapter, as PEFT's LoRA makes it."""

    def __init__(self, layer):
        super().__init__()
        self.base_layer = layer
        self.lora_A = nn.ModuleDict({"default": nn.Linear(layer.in_features, 2, bias=False)})
        self.lora_B = nn.ModuleDict({"default": nn.Linear(2, layer.out_features, bias=False)})

    def forward(self, x):
        return self.base_layer(x) + self.lora_B["default"](self.lora_A["default"](x))


class LoraModel(Passing):
    """As PEFT's: it calls the forward of the model inside, and so none of its hooks."""

    def __init__(self, model):
        nn.Module.__init__(self)
        self.model = model

    def __getattr__(self, name):
        try:
            return nn.Module.__getattr__(self, name)
        except AttributeError:
            return getattr(nn.Module.__getattr__(self, "model"), name)

    def forward(self, *args, **kwargs):
        return self.model.forward(*args, **kwargs)


class PeftModel(nn.Module):
    def __init__(self, model):
        super().__init__()
        for module in list(model.modules()):
            for name, layer in list(module.named_children()):
                if name in ("qkv", "q_proj"):
                    setattr(module, name, Adapted(layer))
        self.base_model = LoraModel(model)
        self.config = getattr(model, "config", {"model_type": "custom"})

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("base_model"), name)

    def forward(self, *args, **kwargs):
        return self.base_model(*args, **kwargs)


class Normalised(Around):
    def forward(self, images):
        return self.net((images - 0.5) / 0.25)


class Tiled(Around):
    """Takes images of twice the size and runs the model on their quarters."""

    def forward(self, images):
        height, width = (side // 2 for side in images.shape[2:])
        tiles = [images[..., y : y + height, x : x + width] for y in (0, height) for x in (0, width)]
        return sum(self.net(tile) for tile in tiles)


class Flipped(Around):
    """Test-time augmentation."""

    def forward(self, images):
        return (self.net(images) + self.net(images.flip(3))) / 2


class Grey(Around):
    def __init__(self, net):
        super().__init__(net, colours=nn.Conv2d(1, 3, 1))

    def forward(self, images):
        return self.net(self.colours(images))


class NewHead(Around):
    """A head of one's own on what a backbone gives, not all of which is called as a whole."""

    def __init__(self, net, count, **own):
        super().__init__(net, head=nn.Linear(12, count), **own)

    def forward(self, images):
        is_timm = hasattr(self.net, "forward_features")
        tokens = self.net.forward_features(images) if is_timm else self.net.vit(images).last_hidden_state
        return self.head(tokens[:, 0])


class Two(nn.Module):
    def __init__(self, one, other):
        super().__init__()
        self.one, self.other = one, other

    def forward(self, images):
        return self.one(images) + self.other(images)


WRAPPERS = {
    "parallel": nn.DataParallel,
    "averaged": AveragedModel,
    "timm's average": timm.utils.ModelEmaV3,
    "compiled": torch.compile,
    "compiled within": lambda model: nn.DataParallel(torch.compile(model)),
    "adapters": PeftModel,
}
