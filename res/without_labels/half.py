"""The weights of a run without labels as they are shipped: in half precision, without what only a training needs.

    python res/without_labels/half.py res/dino-cifar

Rewrites best.safetensors, and removes the rest of the objective and the state to resume from.
"""

import sys
from pathlib import Path

from vit_course._support.files.weights import load_weights, write_tensors

if __name__ == "__main__":
    run = Path(sys.argv[1])
    tensors, metadata = load_weights(run / "best.safetensors")
    write_tensors(run / "best.safetensors", {key: value.half() for key, value in tensors.items()}, metadata)
    for name in ("objective.safetensors", "last.safetensors"):
        (run / name).unlink(missing_ok=True)
