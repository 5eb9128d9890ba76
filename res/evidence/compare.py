"""The tests of chapter 09 for any model: does it light up the object, and do its weights have a part in that?

    python res/evidence/compare.py MODEL ... [--out compare.csv]

MODEL is what `pretrained.load_run` takes: a name of the course ("vit-s14"), the folder of a run, or a published
model (timm:NAME, hf:NAME, torchvision:NAME). Each is tested on two sets of pictures, at its own size:

- "photographs": those with an outline, through the model's own preprocessing. A model of 32 x 32 pixels sees them
  at 32 x 32, with far fewer patches: the column `grid` says how many, and only lines of one grid can be compared
  with one another.
- "shapes": the first 500 generated test images with exact masks, resized to the model's size where it is another; the
  first 60 for a model of more than 64 pixels, to save time.

Each line is a model, a set of pictures and a test. `value` is the mean of an AUC over the objects drawn (`auc` of
chapter 09: each patch counts by its cover), `error` its standard error clustered by object, `objects` their number.
Each photograph, and each image of a shape, is one object; what was made of it several times is averaged first.
Maps are the class token's rows, or the mean rows of the patches in a model without one (`note` says so).

- "best head": of each picture, the head that is best on the other ones. "mean of the last layer": of all its heads.
  "rollout" and "relevance": `maps.interpret`; relevance for the class that the model names. There is none for a model
  without classes: the likeness of its class token to itself has no gradient, because it is at its greatest.
- "occlusion, features": 1 - cosine between the features (the class token after the last norm, or the mean of the
  patches) with and without a patch, which gets the mean colour of training. "occlusion, class": by how much the logit
  of the class named falls. Over 8 x 8 patches, blocks are greyed: 2 x 2 patches up to 16 x 16. Of the shapes, the
  first 100 (for a model of more than 64 pixels, 12).
- "middle", "colour": no model. "best head minus middle": a difference for each object.
- "shuffled patches": the best head on pictures whose patches are in another order, three orders, and the head is chosen
  on the others of these; "..., middle" on the same masks, "..., random" by one random model for each order.
- "pasted object", "pasted pieces", "pasted texture", "pasted flat": the pictures of pasted.py, by the head that is best
  on the photographs of the other objects. For a model of another size than 224 x 224 they are made at 224 x 224, then
  resized. The differences are clustered by object; textures were drawn too, so the error of "minus texture" is too
  small, and pasted.csv has what the right one needs.
- "..., random": six copies of the model with the numbers of each tensor in a random order. `value` is their mean,
  `error` that of their mean by object, `spread` the standard deviation between the six.
  "... minus random": a difference for each object.

The table is written after each few lines, and lines that it has are not computed again, so the script may be stopped
and started. `weights` begins the SHA-256 of the model's numbers: lines of other ones of that name are replaced.
About forty minutes on one core for vit-s14, a minute for a small model.
"""

import argparse
import csv
import hashlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from measures import PICTURES, TESTS, Values
from scores import has_class_token
from torch import nn

from vit_course import pretrained
from vit_course._support.files.atomic import write_csv
from vit_course._support.inputs.rules import harmless

TABLE = Path(__file__).with_name("compare.csv")
KEY = ("model", "pictures", "test")
COLUMNS = (*KEY, "weights", "grid", "value", "error", "objects", "spread", "note")
NO_TOKEN = "no class token: the mean row of the patches"


def in_words(values: Values) -> dict:
    """-> the columns of a line that say what was found."""
    if isinstance(values, str):
        return {"value": "", "error": "", "objects": 0, "spread": "", "note": values}
    spread = f"{values.mean(dim=1).std():.4f}" if values.ndim == 2 else ""
    objects = values.mean(dim=0) if values.ndim == 2 else values  # (n,)
    error = objects.std() / len(objects) ** 0.5
    found = {"value": f"{objects.mean():.4f}", "error": f"{error:.4f}", "objects": len(objects)}
    return found | {"spread": spread, "note": ""}


def compare(name: str, model: pretrained.Pretrained, table: dict[tuple, dict]) -> Iterator[str]:
    """Adds the lines of a model that a table lacks, those of one test after the other; -> what was done.

    Args:
        name: what the lines call it.
        model: its net may be ours, timm's or of transformers, in eval mode; `class_names` is empty where it gives no
            logits.
        table: lines with `COLUMNS`, each under the values of its `KEY`.
    """
    net, preprocess, class_names = model
    weights = digest(net)
    for key in [key for key, line in table.items() if line["model"] == name and line["weights"] != weights]:
        del table[key]
    for pictured, (prepare, tests) in PICTURES.items():
        case = None
        for test in tests:
            if all((name, pictured, each) in table for each in TESTS[test]):
                continue
            start = time.process_time()
            case = case or prepare(net, preprocess, bool(class_names))
            found, grid = test(case), "{} x {}".format(*case.tokens.grid)
            for each in TESTS[test]:
                line = dict(zip(KEY, (name, pictured, each), strict=True)) | {"weights": weights, "grid": grid}
                line |= in_words(found[each])
                if not has_class_token(case.tokens):
                    line["note"] = "; ".join(filter(None, (line["note"], NO_TOKEN)))
                table[name, pictured, each] = line
            yield f"{name}, {pictured}, {test.__name__}: {time.process_time() - start:.0f} s"


def digest(net: nn.Module) -> str:
    """-> the beginning of the SHA-256 of a model's numbers."""
    numbers = hashlib.sha256()
    for tensor in net.state_dict().values():
        numbers.update(tensor.float().contiguous().numpy().tobytes())
    return numbers.hexdigest()[:12]


def read(path: Path) -> dict[tuple, dict]:
    """-> the lines of a table, each under the values of its `KEY`; none where there is no file.

    Raises:
        ValueError: a file that is no such table.
        OSError: one that cannot be read.
    """
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.DictReader(file)
        if lines.fieldnames is None or tuple(lines.fieldnames) != COLUMNS:
            raise ValueError(f"{path} is no table of this script, whose columns are {', '.join(COLUMNS)}")
        return {tuple(line[key] for key in KEY): line for line in lines}


def main(arguments: list[str] | None = None) -> int:
    """Compares the models that are named; -> the exit code, 2 for bad input."""
    parser = argparse.ArgumentParser(description="The tests of chapter 09 for any model.")
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a name or a folder, as load_run takes it")
    parser.add_argument("--out", type=Path, default=TABLE, help="the table, which is added to (default: %(default)s)")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        table, models = read(options.out), {}
        for given in options.models:  # all of them before any work
            name = Path(given).resolve().name if Path(given).is_dir() else given
            if name in models:
                raise ValueError(f"two models are called {name!r}: give one of them another name, or another --out")
            models[name] = pretrained.load_run(given)
        for name, model in models.items():
            for done in compare(name, model, table):
                write_csv(options.out, [*table.values()])
                print(harmless(done), flush=True)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        print(harmless(f"error: {error}"), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
