"""What the benchmarks share: the models of all libraries at one size, and a fair way to time them."""

import argparse
import os
import random
import time
from collections.abc import Callable
from statistics import median, quantiles

import torch
from torch import nn

from vit_course.config import PRESETS, ViTConfig
from vit_course.vit import ViT

REFERENCE = "timm"

# Each library is imported by its own function, so that a comparison of a few needs only those.


def timm_vit(c: ViTConfig) -> nn.Module:
    import timm

    return timm.models.VisionTransformer(
        img_size=c.image_size, patch_size=c.patch_size, embed_dim=c.hidden_dim, depth=c.num_layers,
        num_heads=c.num_heads, mlp_ratio=c.mlp_dim / c.hidden_dim, num_classes=c.num_classes,
    )  # fmt: skip


def torchvision_vit(c: ViTConfig) -> nn.Module:
    import torchvision

    return torchvision.models.VisionTransformer(
        image_size=c.image_size[0], patch_size=c.patch_size, num_layers=c.num_layers, num_heads=c.num_heads,
        hidden_dim=c.hidden_dim, mlp_dim=c.mlp_dim, num_classes=c.num_classes,
    )  # fmt: skip


def huggingface_vit(c: ViTConfig) -> nn.Module:
    import transformers

    config = transformers.ViTConfig(
        image_size=c.image_size, patch_size=c.patch_size, num_hidden_layers=c.num_layers,
        num_attention_heads=c.num_heads, hidden_size=c.hidden_dim, intermediate_size=c.mlp_dim,
        num_labels=c.num_classes,
    )  # fmt: skip
    return transformers.ViTForImageClassification(config)


def vit_pytorch_vit(c: ViTConfig) -> nn.Module:
    import vit_pytorch

    return vit_pytorch.ViT(
        image_size=c.image_size, patch_size=c.patch_size, num_classes=c.num_classes, dim=c.hidden_dim,
        depth=c.num_layers, heads=c.num_heads, dim_head=c.head_dim, mlp_dim=c.mlp_dim,
    )  # fmt: skip


CONTENDERS: dict[str, Callable[[ViTConfig], nn.Module]] = {
    "ours": ViT,
    "timm": timm_vit,
    "torchvision": torchvision_vit,
    "vit-pytorch": vit_pytorch_vit,
    "Hugging Face": huggingface_vit,
}


def build(name: str, config: ViTConfig, device: str = "cpu") -> nn.Module:
    """-> a contender's model, with as many parameters as ours to 1 %; a `ValueError` for one of another size."""
    torch.manual_seed(0)
    model = CONTENDERS[name](config)
    count = sum(p.numel() for p in model.parameters())
    if abs(count - config.num_parameters) > 0.01 * config.num_parameters:
        raise ValueError(f"{name} has {count:,} parameters, ours has {config.num_parameters:,}: not the same model")
    return model.to(device)


def logits(model: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """(B, C, H, W) -> (B, num_classes), whatever the library wraps them in."""
    out = model(images)
    return out if isinstance(out, torch.Tensor) else out.logits


def checked(name: str, out: torch.Tensor, shape: tuple[int, ...]) -> None:
    """A fast model that answers nonsense takes no part: a `ValueError` for another shape or what is not finite."""
    if tuple(out.shape) != shape or not out.isfinite().all():
        raise ValueError(f"{name} gave shape {tuple(out.shape)} where {shape} was due, or numbers that are not finite")


def take_turns(contenders: dict[str, Callable[[], object]], arguments: argparse.Namespace) -> dict[str, list[float]]:
    """-> seconds of each contender, one a round.

    Round after round each contender runs once, in an order drawn anew, so that whatever else slows the machine down
    meets all of them alike.
    """
    wait = torch.cuda.synchronize if arguments.device == "cuda" else lambda: None
    order, rng = list(contenders), random.Random(0)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for i in range(arguments.warmup + arguments.rounds):
        rng.shuffle(order)
        for name in order:
            wait()
            start = time.perf_counter()
            contenders[name]()
            wait()
            if i >= arguments.warmup:
                seconds[name].append(time.perf_counter() - start)
    return seconds


def table(seconds: dict[str, list[float]], reference: str, unit: str) -> str:
    """One row a contender: speed as a ratio to `reference` (median of the rounds and quartiles), median in ms."""
    width = max(map(len, seconds))
    lines = [f"{unit:{width}}  speed  quartiles          ms"]
    for name, own in seconds.items():
        ratios = [base / taken for base, taken in zip(seconds[reference], own, strict=True)]
        low, middle, high = quantiles(ratios, n=4, method="inclusive")
        lines.append(f"{name:{width}}  {middle:5.2f}  {low:.2f} to {high:.2f}  {median(own) * 1000:10.1f}")
    return "\n".join(lines)


def options(description: str) -> argparse.ArgumentParser:
    """The words that both scripts take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch, on the processor")
    parser.add_argument("--rounds", type=int, default=15, help="at least 2")
    parser.add_argument("--warmup", type=int, default=2, help="rounds before the first that counts")
    parser.add_argument("--models", nargs="+", choices=PRESETS, default=["tiny-cifar"], metavar="PRESET")
    parser.add_argument("--batch", type=int, default=128)
    return parser


def begin(arguments: argparse.Namespace) -> None:
    """Sets the threads and says what machine this is, without its name."""
    if arguments.rounds < 2:
        raise SystemExit(f"--rounds must be at least 2 for quartiles, got {arguments.rounds}")
    torch.set_num_threads(arguments.threads)
    device = torch.cuda.get_device_name() if arguments.device == "cuda" else torch.backends.cpu.get_cpu_capability()
    print(f"{os.cpu_count()} cores, {torch.get_num_threads()} threads, torch {torch.__version__}, {device}")
