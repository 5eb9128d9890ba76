"""The weights of a run without labels as they are shipped: in half precision, without what only a training needs.

    python res/without_labels/half.py res/dino-cifar
    python res/without_labels/half.py res/clip-scenes --keep-objective

Rewrites best.safetensors, and removes the state to resume from and the rest of the objective, unless that is kept.
"""

import argparse
from pathlib import Path

from vit_course._support.files.weights import load_weights, write_tensors

if __name__ == "__main__":
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("run", type=Path)
    parser.add_argument("--keep-objective", action="store_true", help="also needed in use, such as a text Transformer")
    options = parser.parse_args()
    kept = ["best.safetensors"] + ["objective.safetensors"] * options.keep_objective
    for name in kept:
        tensors, metadata = load_weights(options.run / name)
        write_tensors(options.run / name, {key: value.half() for key, value in tensors.items()}, metadata)
    for name in {"objective.safetensors", "last.safetensors"} - {*kept}:
        (options.run / name).unlink(missing_ok=True)
