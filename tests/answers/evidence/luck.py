"""Answers to exercise evidence.luck."""

from answers import reported, right, unforeseen, wrong

CHOSEN, HELD_OUT = [0.2, 0.175, 0.17, 0.193, 0.186], [0.162, 0.159, 0.154, 0.162, 0.175]
MEASURED = {"chosen": CHOSEN, "held_out": HELD_OUT, "conclusion": "the choice"}


@right("evidence.luck")
def as_lists():
    return MEASURED


@right("evidence.luck")
def six_seeds():
    return MEASURED | {"chosen": [*CHOSEN, 0.235], "held_out": [*HELD_OUT, 0.179]}


@right("evidence.luck")
def with_other_images():
    return {
        "chosen": [0.2, 0.19, 0.18, 0.2, 0.19],
        "held_out": [0.18, 0.18, 0.17, 0.18, 0.19],
        "conclusion": "the head",
    }


reported("evidence.luck", MEASURED, "chosen", "held_out", fewest=5)


def _luck(slug, **changes):
    wrong("evidence.luck", slug)(lambda: MEASURED | changes)


_luck("does-not-follow", conclusion="the head")
_luck("runs-differ", chosen=[*CHOSEN, 0.2])
_luck("same-images", held_out=CHOSEN)
_luck("trained-model", chosen=[0.51, 0.5, 0.52, 0.51, 0.5], held_out=[0.5, 0.51, 0.49, 0.5, 0.5])
_luck("exchanged", chosen=HELD_OUT, held_out=CHOSEN)
_luck("not-the-best", chosen=[0.16, 0.165, 0.162, 0.161, 0.163], held_out=[0.15, 0.155, 0.152, 0.151, 0.153])
_luck("one-run-repeated", held_out=[0.16] * 5)
_luck("no-such-option", conclusion="luck")
# Seeds 0 to 4, each slip measured.
_luck("chosen-anew", held_out=[0.1746, 0.1631, 0.1652, 0.1791, 0.1748], conclusion="the head")
_luck("other-images", held_out=[0.1602, 0.1592, 0.1533, 0.1615, 0.1707])
_luck("other-images", held_out=[0.159, 0.16, 0.153, 0.161, 0.167])
_luck("all-heads-averaged", held_out=[0.1611, 0.155, 0.1529, 0.1552, 0.1556])
_luck("a-head-for-each-image", chosen=[0.2798, 0.224, 0.2147, 0.2492, 0.2523])
_luck(
    "not-divided",
    chosen=[0.1972, 0.1715, 0.1671, 0.1897, 0.184],
    held_out=[0.1598, 0.156, 0.1509, 0.1588, 0.1723],
)
_luck(
    "column-of-the-class-token",
    chosen=[0.2194, 0.1815, 0.179, 0.2033, 0.2052],
    held_out=[0.1709, 0.1519, 0.1534, 0.1732, 0.1821],
)
_luck(
    "one-place-too-far",
    chosen=[0.185, 0.1684, 0.1664, 0.1796, 0.1773],
    held_out=[0.1677, 0.1497, 0.1619, 0.1568, 0.1665],
)
_luck(
    "last-layer-only",
    chosen=[0.1907, 0.1748, 0.1699, 0.1933, 0.1785],
    held_out=[0.1553, 0.1588, 0.1535, 0.162, 0.1615],
)
_luck("worst-head", chosen=[0.1454, 0.1257, 0.1335, 0.0899, 0.1289], held_out=[0.1511, 0.1477, 0.1551, 0.136, 0.139])
_luck(
    "chance-taken-away",
    chosen=[0.0495, 0.0248, 0.0199, 0.0433, 0.0362],
    held_out=[0.0119, 0.0088, 0.0035, 0.012, 0.0248],
)
_luck("percent", chosen=[8, 15, 13, 12, 6], held_out=[10, 7, 7, 6, 6])
unforeseen("evidence.luck")(lambda: MEASURED | {"held_out": [0.02, 0.03, 0.01, 0.02, 0.04]})
