"""How many images a second come from disk: by the training process itself and by workers, against memory.

    python tests/benchmarks/reading.py
    python tests/benchmarks/reading.py --pictures 2000 --workers 0 2 4 8

Photographs of 500 x 375, as noise that compresses like one, are written as JPEG into a temporary folder and read in
batches of 64 at 224 x 224, a whole epoch at a time. The files stay in the memory that the system keeps of files, so
this is the time of decoding and resizing; a slow disk comes on top. To feed a training step, compare the images a
second with what `speed.py` says of the model.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
from contenders import begin, options, table, take_turns
from PIL import Image

from vit_course import data


def write_photographs(folder: Path, count: int) -> None:
    rng = np.random.default_rng(0)
    for i in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (24, 32, 3), dtype=np.uint8))
        path = folder / f"class{i % 2}" / f"{i}.jpg"
        path.parent.mkdir(exist_ok=True)
        coarse.resize((500, 375), Image.Resampling.BICUBIC).save(path, quality=90)


def epoch(images: data.Images, workers: int) -> int:
    batches = list(torch.arange(len(images)).split(64))
    return sum(len(batch) for batch in data.load_batches(images, batches, workers))


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--pictures", type=int, default=600)
    parser.add_argument("--workers", type=int, nargs="+", default=[0, 1, 2])
    arguments = parser.parse_args()
    begin(arguments)
    with tempfile.TemporaryDirectory() as folder:
        write_photographs(Path(folder), arguments.pictures)
        files = data.folder(folder, image_size=224, on_disk=True).train
        memory = files[:]
        contenders = {f"disk, {n} workers": lambda n=n: epoch(files, n) for n in arguments.workers}
        contenders["memory"] = lambda: epoch(memory, 0)
        seconds = take_turns(contenders, arguments.rounds, arguments.warmup, arguments.clock, "cpu")
        print(f"{len(files)} images of 224 x 224")
        print(table(seconds, f"disk, {arguments.workers[0]} workers", "an epoch"))
        for name, values in seconds.items():
            print(f"{name}: {len(files) / sorted(values)[len(values) // 2]:.0f} images a second")


if __name__ == "__main__":
    main()
