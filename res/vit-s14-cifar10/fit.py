"""The linear head of this folder, fitted to the frozen features of vit-s14.

    python res/vit-s14-cifar10/fit.py --data data

Features of all 50,000 training images of CIFAR-10, enlarged to 98 pixels, are made once (about a quarter of an hour on
one core, in bfloat16) and kept under --cache; so are those of the 10,000 test images (in float32, five minutes). The
strength of the regularisation is chosen on 5,000 training images that are set apart, then the head is fitted to all
50,000. Writes head.safetensors, head.json, log.csv and result.json beside this script.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from vit_course import data, pretrained
from vit_course._support.files.atomic import write_csv, write_json
from vit_course._support.files.weights import write_tensors

HERE = Path(__file__).parent
STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0)


def features(path: Path, model, preprocess, images: torch.Tensor, bfloat16: bool) -> torch.Tensor:
    """(n, 3, 32, 32) -> (n, 384), out of the file if it is there."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, pretrained.class_tokens(model, preprocess, images, bfloat16=bfloat16).numpy())
    return torch.from_numpy(np.load(path))


def accuracy(head: torch.nn.Linear, inputs: torch.Tensor, labels: torch.Tensor) -> float:
    with torch.no_grad():
        return (head(inputs).argmax(dim=1) == labels).double().mean().item()


def main() -> None:
    """Fits the head and writes what belongs to it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of CIFAR-10")
    parser.add_argument("--cache", type=Path, default=Path("runs/vit-s14-cifar10"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    dataset = data.cifar10(options.data)
    model, preprocess, _ = pretrained.load_run("vit-s14", image_size=98)
    parts = {"train": dataset.train, "validation": dataset.validation, "test": dataset.test}
    inputs = {
        name: features(options.cache / f"{name}.npy", model, preprocess, part.images, bfloat16=name != "test")
        for name, part in parts.items()
    }
    log = []
    for strength in STRENGTHS:
        started = time.process_time()
        head = pretrained.fit_linear_head(inputs["train"], dataset.train.labels, strength)
        row = {"regularisation": strength, "processor_seconds": round(time.process_time() - started)}
        for name in ("train", "validation"):
            row[f"{name}_accuracy"] = round(accuracy(head, inputs[name], parts[name].labels), 4)
        log.append(row)
        print(row, flush=True)
        write_csv(HERE / "log.csv", log)
    best = max(log, key=lambda row: row["validation_accuracy"])["regularisation"]
    joined = [torch.cat([inputs[name] for name in ("train", "validation")])]
    joined.append(torch.cat([parts[name].labels for name in ("train", "validation")]))
    head = pretrained.fit_linear_head(*joined, best)
    result = {
        "regularisation": best,
        "num_train": len(joined[1]),
        "test_accuracy": round(accuracy(head, inputs["test"], dataset.test.labels), 4),
    }
    print(result)
    write_json(HERE / "result.json", result)
    # `none.py` adds when none of the words fits.
    write_json(HERE / "head.json", {"backbone": "vit-s14", "class_names": list(dataset.class_names)})
    write_tensors(HERE / "head.safetensors", head.state_dict(), {})


if __name__ == "__main__":
    main()
