"""`python -m vit_course explore`: a page with the attention maps of a picture."""

import math
from pathlib import Path

from vit_course._support.inputs.rules import harmless
from vit_course.commands.console import say
from vit_course.commands.paths import add_weights, check_checkpoint, check_new_file, check_picture, path

LARGE = 30_000_000  # bytes; a larger page is too big for most mail and takes seconds to open
CHANGED = ("flipped", "shuffled", "cropped")  # the values of beside= in `explore`, whose own list needs PyTorch


def add_to(commands) -> None:
    """Adds this command to the subparsers of the command line."""
    explore = commands.add_parser(
        "explore",
        help="write a page with the attention maps of an image",
        description="Writes one HTML page that holds the attention explorer for an image: it opens in any browser, "
        "without Python and without a network. The model comes with the course, so writing the page needs no network.",
    )
    explore.add_argument("image", help="a picture in any common format")
    add_weights(explore, "vit-s14")
    explore.add_argument(
        "--beside",
        metavar="WHAT",
        help="a second panel with the same query: another picture, or this one changed: flipped, shuffled or cropped",
    )
    explore.add_argument(
        "--effects",
        action="store_true",
        help="also how much each head matters, and what hiding each block of patches changes: about a hundred passes "
        "through the model",
    )
    explore.add_argument(
        "-o", "--out", type=path, help="the page (default: the image's name with .html, in the current folder)"
    )
    explore.add_argument("--force", action="store_true", help="overwrite the page if it exists")
    explore.set_defaults(run=run)


def run(options) -> int:
    """Writes the page and says where it is; returns 0."""
    check_picture(options.image)
    picture_name = Path(options.image).name
    name = harmless(picture_name)
    out = options.out or Path(picture_name).with_suffix(".html")  # in the working directory, not beside the picture
    check_new_file(out, ".html", options.force, options.image, options.beside, options.weights)
    check_checkpoint(options.weights)
    changed = options.beside in CHANGED
    if options.beside is not None and not changed:
        check_picture(options.beside)
    from vit_course import pretrained
    from vit_course.data import pictures
    from vit_course.explorer import explore

    picture = pictures.open_picture(options.image)  # a bad picture fails here, before anything is downloaded
    shown = {"image": picture}
    if changed:
        shown = {"image": picture, "beside": options.beside, "titles": [Path(name).stem, options.beside]}
    elif options.beside is not None:
        second = pictures.open_picture(options.beside)
        shown = {"image": [picture, second], "titles": [Path(name).stem, harmless(Path(options.beside).stem)]}
    found = pretrained.load_run(options.weights, image_size=options.image_size)
    config = found.model.config
    panels = 1 if options.beside is None else 2
    # Queries and keys take 14 bits a number, a third more as base64; everything else adds about a twentieth.
    size = 4.9 * panels * config.num_layers * config.num_tokens * config.hidden_dim
    if size > LARGE:
        rows, columns = config.grid
        fitting = math.isqrt(int(rows * columns * LARGE / size)) * config.patch_size
        say(
            f"{out} will be about {size / 1e6:.0f} MB and slow to open; --image-size {fitting} keeps it below "
            f"{LARGE / 1e6:.0f} MB"
        )
    explorer = explore(found, **shown, effects=("token mean", "patches") if options.effects else False)
    explorer.save_html(out, title=f"Attention in {name}, {options.weights}", overwrite=options.force)
    rows, columns = config.grid
    say(
        f"{out}: {options.weights}, {config.num_layers} layers of {config.num_heads} heads, {rows} x {columns} "
        f"patches, {out.stat().st_size / 1e6:.1f} MB; open it in a browser"
    )
    return 0
