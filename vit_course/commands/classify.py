"""`python -m vit_course classify`: what is in a picture."""

from vit_course.commands.console import say
from vit_course.commands.paths import add_weights, need_checkpoint, need_picture

FEW = 20


def add_to(commands) -> None:
    """Adds the command to the parser's."""
    classify = commands.add_parser(
        "classify",
        help="say what is in a picture",
        description="Prints the five classes that a model finds most probable for a picture. Without --weights it is "
        "the one that comes with the course, which knows the ten words of CIFAR-10 and needs no network.",
    )
    classify.add_argument("image", help="a picture in any common format")
    add_weights(classify, "vit-s14-cifar10")
    classify.set_defaults(run=run)


def run(options) -> int:
    """Prints the five most probable classes of the picture; -> 0."""
    weights = options.weights
    need_picture(options.image)
    need_checkpoint(weights)
    import torch

    from vit_course import pretrained
    from vit_course.data import pictures

    picture = pictures.open_picture(options.image)  # says what is wrong with it before anything is downloaded
    model = pretrained.load_run(weights, image_size=options.image_size)
    best = model.top(picture)
    say(f"{options.image}, as {weights} sees it:")
    with torch.no_grad():
        none = pretrained.none_fits(model.model, model.model(model.preprocess(picture)))
    if none:
        say(none)
    for name, probability in [] if none else best:
        say(f"{probability:7.1%}  {name}")
    count = len(model.class_names)
    if count <= FEW:  # so that nobody takes the best of a few words for the truth
        say(f"It knows {count} words: {', '.join(model.class_names)}.")
    return 0
