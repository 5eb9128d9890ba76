"""When to say that none of the ten words fits: the score of the logits, on CIFAR-10's test images and on photographs.

    python res/vit-s14-cifar10/none.py --data data

The score is the logarithm of the sum of exp(logit) over the ten classes, the negative of the energy of Liu et al. 2020
(arXiv:2010.03759). Writes none.csv: for each threshold the share of the 10,000 test images that lie below it, the
accuracy of the head on the others, and which of the course's photographs reach it. Five of these show one of the ten.
Writes the threshold CHOSEN, with its errors, into head.json. About six minutes on one core.
"""

import argparse
from pathlib import Path

import torch

from vit_course import data, pretrained
from vit_course._support.files.atomic import write_csv, write_json
from vit_course._support.files.json_files import read_json

HERE = Path(__file__).parent
NOT_OF_THE_TEN = set(data.photographs()) - {"cat", "dogs", "hens", "horse", "nuthatch"}
CHOSEN = 7.5
THRESHOLDS = (4.5, 6.0, 7.0, 7.5, 8.0, 9.0, 10.0)


@torch.no_grad()
def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"), help="the folder of CIFAR-10")
    options = parser.parse_args()
    torch.set_num_threads(1)
    test = data.cifar10(options.data).test
    model, preprocess, _ = pretrained.load_run("vit-s14-cifar10", image_size=98)
    logits = model.head(pretrained.class_tokens(model, preprocess, test.images))  # (10000, 10)
    scores, right = logits.logsumexp(dim=1), logits.argmax(dim=1) == test.labels
    whole = pretrained.load_run("vit-s14-cifar10")
    ours = {name: whole.model(whole.preprocess(one.path)).logsumexp(dim=1) for name, one in data.photographs().items()}
    rows = []
    for least in THRESHOLDS:
        kept = scores >= least
        rows.append(
            {
                "threshold": least,
                "test_images_below": round(1 - kept.double().mean().item(), 4),
                "accuracy_above": round(right[kept].double().mean().item(), 4),
                "photographs_above": " ".join(name for name, score in ours.items() if score >= least),
            }
        )
    write_csv(HERE / "none.csv", rows)
    write_json(HERE / "head.json", read_json(HERE / "head.json") | {"none_below": rule(rows)})


def rule(rows: list[dict]) -> dict:
    """What head.json says of the threshold."""
    (row,) = (row for row in rows if float(row["threshold"]) == CHOSEN)
    passed = len(NOT_OF_THE_TEN.intersection(row["photographs_above"].split()))
    share = f"{100 * float(row['test_images_below']):.0f} % of CIFAR-10's own test images lie below it too"
    return {"score": CHOSEN, "errors": f"{share}, and {passed} of our {len(NOT_OF_THE_TEN)} other photographs do not"}


if __name__ == "__main__":
    main()
