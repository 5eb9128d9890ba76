"""Says what was found in a folder of pictures, before anything is trained on it."""

from collections.abc import Sequence
from pathlib import Path

import torch

from vit_course._support.inputs.rules import harmless
from vit_course.data.folder_listing import SPLITS, Listing
from vit_course.data.sets import ImageFiles, ImageSet

NEARLY_BLACK = 3  # of 255: the mean of a picture of which hardly anything is seen
MANY_CLASSES = 20  # so many are listed one by one


def summarise(listing: Listing, parts: Sequence[ImageFiles], looked_at: Sequence[ImageSet]) -> dict:
    """Returns the summary of a folder, in values that JSON can hold.

    Args:
        listing: what was found.
        parts: the files of the training, validation and test images.
        looked_at: the images of each part, or the first of the training images alone.

    Returns:
        "classes": the number of images by class and split; "splits": the splits that have a folder of their own;
        "left_out": by reason, how many files, and one of them; "bits": of whole numbers of more than 8 bits, or None;
        "looked_at": how many images were opened; "nearly_black": how many of these have a mean of less than
        `NEARLY_BLACK`, and one of them.
    """
    counts = [torch.bincount(part.labels, minlength=len(listing.classes)).tolist() for part in parts]
    black = []
    for part, images in zip(parts, looked_at, strict=False):
        paths = part.paths if images.kept is None else part.paths[images.kept.numpy()]
        dark = images.images.flatten(1).float().mean(dim=1) < NEARLY_BLACK  # (n,)
        black += [str(path) for path, is_dark in zip(paths, dark.tolist(), strict=True) if is_dark]
    return {
        "classes": {
            name: dict(zip(SPLITS, (count[label] for count in counts), strict=True))
            for label, name in enumerate(listing.classes)
        },
        "splits": [split for split in listing.pictures if split],
        "left_out": {reason: [len(files), files[0]] for reason, files in listing.left_out.items() if files},
        "bits": parts[0].bits,
        "looked_at": sum(map(len, looked_at)),
        "nearly_black": [len(black), *black[:1]],
    }


def report(name: str, summary: dict) -> str:
    """Returns the summary in words, a line for each class and for whatever else was found."""
    classes, splits = summary["classes"], summary["splits"]
    totals = {split: sum(counts[split] for counts in classes.values()) for split in SPLITS}
    if not splits:
        how = "split at random"
    else:
        drawn = [split for split in SPLITS if split not in splits]
        how = "split by its folders" + (f", {' and '.join(drawn)} drawn from train" if drawn else "")
    lines = [f"{name}: {sum(totals.values())} images of {len(classes)} classes, {how}"]
    shown = classes if len(classes) <= MANY_CLASSES else {}
    width = max([len("all"), *map(len, shown)])
    lines.append(f"  {'':{width}}  {'  '.join(f'{split:>10}' for split in SPLITS)}")
    for title, counts in {**shown, "all": totals}.items():
        lines.append(f"  {title:{width}}  {'  '.join(f'{counts[split]:>10}' for split in SPLITS)}")
    for split in SPLITS:
        if absent := [each for each, counts in classes.items() if not counts[split]]:
            more = f" and {len(absent) - 5} more" if len(absent) > 5 else ""
            lines.append(f"  no image for {split}: {', '.join(absent[:5])}{more}")
    for reason, (count, example) in summary["left_out"].items():
        lines.append(f"  left out, {reason}: {count}, such as {_short(example)}")
    if summary["bits"] not in (None, 16):
        lines.append(f"  pixel values in files of more bits are read as {summary['bits']} bits")
    count, *example = summary["nearly_black"]
    if count:
        lines.append(
            f"  nearly black: {count} of the {summary['looked_at']} images that were opened, such as "
            f"{_short(example[0])}"
        )
    return "\n".join(map(harmless, lines))


def _short(path: str) -> str:
    return "/".join(Path(path).parts[-2:])
