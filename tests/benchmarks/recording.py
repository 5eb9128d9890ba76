"""What recording all attention maps costs.

    python tests/benchmarks/recording.py --threads 2
    python tests/benchmarks/recording.py --models vit-b/16 --batch 4 --threads 2

Compares, for ours and for timm's model of the same size, a plain forward pass with the same pass inside
`record_attention`, and with what it takes to have all maps then; "times as long" is what recording alone costs, and may
be 1.15 from ViT-B/16 on.
"""

from functools import partial
from itertools import product
from statistics import median

import torch
from contenders import CONTENDERS, begin, build, checked, options, table, take_turns

from vit_course.config import ViTConfig
from vit_course.maps.recording import record_attention


@torch.inference_mode()
def plain(model, images) -> torch.Tensor:
    return model(images)


@torch.inference_mode()
def recorded(model, images):
    with record_attention(model) as maps:
        model(images)
    return maps


def stacked(model, images) -> torch.Tensor:
    return recorded(model, images).stacked()


def compare(preset: str, contender: str, arguments) -> str:
    """-> the table of one model: how fast each way is, as a ratio to the plain forward pass."""
    config = ViTConfig.preset(preset)
    model = build(contender, config, arguments.device).eval()
    images = torch.randn(arguments.batch, config.in_channels, *config.image_size, device=arguments.device)
    shape = (arguments.batch, config.num_layers, config.num_heads, config.num_tokens, config.num_tokens)
    ways = {"plain forward": plain, "all maps recorded": recorded, "recorded and stacked": stacked}
    checked("stacked", stacked(model, images), shape)
    runs = {name: partial(way, model, images) for name, way in ways.items()}
    seconds = take_turns(runs, arguments)
    cost = median(b / a for a, b in zip(seconds["plain forward"], seconds["all maps recorded"], strict=True))
    found = table(seconds, "plain forward", f"{contender}, {preset}, batch {arguments.batch}")
    return f"{found}\nrecording takes {cost:.2f} times as long"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--names", nargs="+", choices=CONTENDERS, default=["ours", "timm"], metavar="NAME")
    arguments = parser.parse_args()
    begin(arguments)
    for preset, name in product(arguments.models, arguments.names):
        print(f"\n{compare(preset, name, arguments)}", flush=True)


if __name__ == "__main__":
    main()
