"""Our training step and inference against timm, torchvision, vit-pytorch and Hugging Face, side by side in one run.

    python tests/benchmarks/speed.py --models tiny-cifar --batch 128 --threads 2
    python tests/benchmarks/speed.py --models vit-b/16 --batch 4 --modes inference --threads 2
    python tests/benchmarks/speed.py --models tiny-cifar vit-b/16 --batch 256 --device cuda --rounds 50

The contenders take turns. The speed is the time of timm in float32 divided by the contender's, round by round: 1.25 is
a quarter faster. All peers come with `pip install -e ".[test]"`. A training step is forward pass, cross-entropy,
backward pass and an AdamW step. For ViT-B/16 the five models with AdamW's state are some 7 GB, their activations not
counted; `--contenders` takes fewer.
"""

from functools import partial

import torch
import torch.nn.functional as F
from contenders import CONTENDERS, REFERENCE, begin, build, checked, logits, options, table, take_turns
from torch import nn

from vit_course.config import ViTConfig

PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16}


def training_step(model, optimizer, images, labels, dtype) -> torch.Tensor:
    with torch.autocast(images.device.type, dtype, enabled=dtype is not None):
        out = logits(model, images)  # (B, num_classes)
    optimizer.zero_grad()
    F.cross_entropy(out.float(), labels).backward()
    optimizer.step()
    return out


@torch.inference_mode()
def inference(model, images, dtype) -> torch.Tensor:
    with torch.autocast(images.device.type, dtype, enabled=dtype is not None):
        return logits(model, images)  # (B, num_classes)


def compare(models: dict[str, nn.Module], config: ViTConfig, mode: str, arguments) -> str:
    """-> the table of one configuration and mode: every model in every precision."""
    shape = (arguments.batch, config.in_channels, *config.image_size)
    images = torch.randn(shape, device=arguments.device)
    labels = torch.randint(config.num_classes, (arguments.batch,), device=arguments.device)
    runs = {}
    for name, model in models.items():
        model.train(mode == "training")
        # One optimiser for both precisions: its state is as large as two models.
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        for precision in arguments.precisions:
            if mode == "training":
                run = partial(training_step, model, optimizer, images, labels, PRECISIONS[precision])
            else:
                run = partial(inference, model, images, PRECISIONS[precision])
            checked(f"{name} {precision}", run(), (arguments.batch, config.num_classes))
            runs[f"{name} {precision}"] = run
    seconds = take_turns(runs, arguments)
    return table(seconds, f"{REFERENCE} {arguments.precisions[0]}", f"{mode}, batch {arguments.batch}")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--modes", nargs="+", choices=("training", "inference"), default=["training", "inference"])
    parser.add_argument(
        "--precisions", nargs="+", choices=PRECISIONS, default=list(PRECISIONS), help="the first is timm's of speed 1"
    )
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="NAME")
    arguments = parser.parse_args()
    begin(arguments)
    for preset in arguments.models:
        config = ViTConfig.preset(preset)
        names = [name for name in CONTENDERS if name in (*arguments.contenders, REFERENCE)]
        models = {name: build(name, config, arguments.device) for name in names}
        for mode in arguments.modes:
            print(f"\n{preset}, {config.num_parameters:,} parameters")
            print(compare(models, config, mode, arguments), flush=True)


if __name__ == "__main__":
    main()
