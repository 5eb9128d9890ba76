"""What recording all attention maps costs, and what training on a long sequence takes in memory.

    python tests/benchmarks/recording.py --threads 2
    python tests/benchmarks/recording.py --models vit-b/16 --batch 4 --threads 2
    python tests/benchmarks/recording.py --models vit-s/14-518 --batch 1 --rounds 5 --memory

The first tables compare, for ours and for timm's model of the same size, a plain forward pass with the same pass inside
`record_attention`, and with what it takes to have all maps then; "times as long" is what recording alone costs, and may
be 1.15 from ViT-B/16 on. vit-s/14-518 is DINOv2's small model at its own size, 1,370 tokens. The last trains one step
on one image of 4,096 patches, each library in a process of its own: the most memory that was resident, and how much of
it came on top of what was there before the step.
"""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median

import torch
import torch.nn.functional as F
from contenders import begin, build, checked, logits, options, table, take_turns

from vit_course.config import PRESETS, ViTConfig
from vit_course.maps.recording import record_attention

MEGABYTE = 1e6
LARGE = "vit-s/14-518"


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


def config_of(name: str) -> ViTConfig:
    if name == LARGE:
        return ViTConfig.preset("vit-s/16", patch_size=14, image_size=518)
    return ViTConfig.preset(name)


def compare(preset: str, contender: str, arguments) -> str:
    """-> the table of one model: how fast each way is, as a ratio to the plain forward pass."""
    config = config_of(preset)
    model = build(contender, config, arguments.device).eval()
    images = torch.randn(arguments.batch, config.in_channels, *config.image_size, device=arguments.device)
    shape = (arguments.batch, config.num_layers, config.num_heads, config.num_tokens, config.num_tokens)
    ways = {"plain forward": plain, "all maps recorded": recorded, "recorded and stacked": stacked}
    checked("stacked", stacked(model, images), shape)
    runs = {name: partial(way, model, images) for name, way in ways.items()}
    seconds = take_turns(runs, arguments.rounds, arguments.warmup, arguments.clock, arguments.device)
    cost = median(b / a for a, b in zip(seconds["plain forward"], seconds["all maps recorded"], strict=True))
    found = table(seconds, "plain forward", f"{contender}, {preset}, batch {arguments.batch}")
    return f"{found}\nrecording takes {cost:.2f} times as long"


def resident(field: str) -> float:
    """-> megabytes of this process: "VmRSS" now, "VmHWM" the most so far. Linux only."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024 / MEGABYTE
    raise ValueError(f"/proc/self/status has no {field}")


def memory_of(name: str, side: int, device: str) -> dict[str, float]:
    """Trains one step of the tiny configuration on one image of side x side patches; -> megabytes."""
    config = ViTConfig.preset("tiny-cifar", image_size=4 * side)
    model = build(name, config, device).train()
    image = torch.randn(1, 3, *config.image_size, device=device)
    before = resident("VmRSS") if device == "cpu" else torch.cuda.memory_allocated() / MEGABYTE
    out = logits(model, image)
    F.cross_entropy(out, torch.zeros(1, dtype=torch.long, device=device)).backward()
    torch.optim.AdamW(model.parameters()).step()
    checked(name, out, (1, config.num_classes))
    peak = resident("VmHWM") if device == "cpu" else torch.cuda.max_memory_allocated() / MEGABYTE
    return {"peak": peak, "step": peak - before}


def memory_in_turn(arguments) -> str:
    """-> the table of memory, each contender in a fresh process, since a process never gives its peak back."""
    lines = [f"one training step, {arguments.side**2:,} patches   peak MB   of it the step"]
    for name in arguments.memory:
        command = [sys.executable, __file__, "--only-memory-of", name, "--side", str(arguments.side)]
        command += ["--device", arguments.device, "--threads", str(arguments.threads)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        used = json.loads(done.stdout.splitlines()[-1])
        lines.append(f"{name:36}  {used['peak']:8.0f}  {used['step']:14.0f}")
    return "\n".join(lines)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--models", nargs="*", choices=[*PRESETS, LARGE], default=["tiny-cifar"], metavar="PRESET")
    parser.add_argument("--names", nargs="*", default=["ours", "timm"], metavar="NAME", help="whose models")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--side", type=int, default=64, help="patches along a side, in the memory table")
    parser.add_argument("--memory", nargs="*", default=["ours", "torchvision"], metavar="NAME")
    parser.add_argument("--only-memory-of", metavar="NAME", help="measures this process; used by the script itself")
    arguments = parser.parse_args()
    begin(arguments)
    if arguments.only_memory_of:
        print(json.dumps(memory_of(arguments.only_memory_of, arguments.side, arguments.device)))
        return
    for preset in arguments.models:
        for name in arguments.names:
            print(f"\n{compare(preset, name, arguments)}", flush=True)
    if arguments.memory:
        print(f"\n{memory_in_turn(arguments)}")


if __name__ == "__main__":
    main()
