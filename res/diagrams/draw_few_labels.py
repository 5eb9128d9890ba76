"""Draw the diagram of chapter 10, four ways to a classifier: python res/diagrams/draw_few_labels.py"""

from make_diagrams import BLUE, GREY, INK, ORANGE, PALE, arrow, box, document, save, text

NAME = "few-labels"
LEFT, PITCH = 112, 190
FROZEN = {"fill": PALE, "stroke": GREY, "stroke_dasharray": "6 4"}
TRAINED = {"fill": "#FCE9C4", "stroke": ORANGE, "stroke_width": 2.5}
# Title, what the body is and how it is treated, its cost for one image.
WAYS = (
    ("linear head", "ViT-S/14\npretrained\nstays frozen", FROZEN, 130, "1,096 M"),
    ("fine-tuned", "ViT-S/14\npretrained\ntrained on", TRAINED, 130, "1,096 M"),
    ("ConvNet from scratch", "ConvNet\nrandom at first\ntrained", TRAINED, 124, "19 M"),
    ("ViT from scratch", "small ViT\nrandom at first\ntrained", TRAINED, 124, "9 M"),
)


def column(index: int) -> str:
    title, words, look, width, cost = WAYS[index]
    middle = LEFT + PITCH * index
    return "".join(
        [
            text(middle, 34, title, size=15, bold=True),
            text(middle, 58, "a few labelled images", size=13, fill=GREY),
            arrow((middle, 66), (middle, 84)),
            box(middle - width / 2, 84, width, 76, words, **look),
            arrow((middle, 160), (middle, 182)),
            box(middle - 40, 182, 80, 34, "head", **TRAINED),
            arrow((middle, 216), (middle, 236)),
            text(middle, 254, "10 classes", size=13),
            text(middle, 282, f"{cost} multiply-adds", size=13, fill=BLUE),
        ]
    )


def few_labels() -> str:
    description = """Four columns, each from a few labelled images through a network and a head to ten classes. Linear
    head: a pretrained ViT-S/14, frozen, and a trained head, 1,096 million multiply-adds an image. Fine-tuned: the same,
    all of it trained. ConvNet from scratch, 19 million, and small ViT from scratch, 9 million: all trained, random at
    first."""
    key = [
        box(206, 304, 90, 26, "frozen", **FROZEN),
        box(316, 304, 90, 26, "trained", **TRAINED),
        text(516, 322, "multiply-adds: for one image", size=13, fill=INK),
    ]
    size = (2 * LEFT + PITCH * (len(WAYS) - 1), 346)
    return document(NAME, size, "Four ways to a classifier", description, *map(column, range(len(WAYS))), *key)


if __name__ == "__main__":
    save(NAME, few_labels())
