"""Exercise evidence.luck: how much of a chosen head's score is the choice."""

from statistics import mean

from vit_course.checks.exercise import exercise
from vit_course.checks.report import Wrong
from vit_course.checks.tools.calling import call
from vit_course.checks.tools.dicts import named
from vit_course.checks.tools.experiments import choice, paired, recognised, shares
from vit_course.checks.tools.table import refuse

CHANCE = 0.15  # the mean area of the shapes
OPTIONS = ("the choice", "the head")
# What seeds 0 to 9 give, chosen and held out: the right numbers, and others.
RIGHT = (
    [0.1995, 0.1748, 0.1699, 0.1933, 0.1862, 0.2354, 0.1896, 0.1967, 0.1867, 0.1749],
    [0.1619, 0.1588, 0.1535, 0.162, 0.1748, 0.1788, 0.1659, 0.161, 0.1767, 0.1582],
)
OTHERWISE = {
    "chosen-anew": (RIGHT[0], [0.1746, 0.1631, 0.1652, 0.1791, 0.1748, 0.1788, 0.1693, 0.1877, 0.1767, 0.1766]),
    "all-heads-averaged": (RIGHT[0], [0.1611, 0.155, 0.1529, 0.1552, 0.1556, 0.1596, 0.1547, 0.1524, 0.1563, 0.1577]),
    "other-images": (RIGHT[0], [0.1602, 0.1592, 0.1533, 0.1615, 0.1707, 0.1787, 0.1651, 0.1611, 0.1771, 0.1589]),
    "other-images-too": (RIGHT[0], [0.1585, 0.1595, 0.1531, 0.161, 0.1667, 0.1786, 0.1643, 0.1612, 0.1775, 0.1595]),
    "a-head-for-each-image": ([0.2798, 0.224, 0.2147, 0.2492, 0.2523, 0.3125, 0.2412, 0.259, 0.2868, 0.232], RIGHT[1]),
    "not-divided": (
        [0.1972, 0.1715, 0.1671, 0.1897, 0.184, 0.2317, 0.1854, 0.1939, 0.1833, 0.1709],
        [0.1598, 0.156, 0.1509, 0.1588, 0.1723, 0.1763, 0.163, 0.1585, 0.1737, 0.1548],
    ),
    "column-of-the-class-token": (
        [0.2194, 0.1815, 0.179, 0.2033, 0.2052, 0.2033, 0.2053, 0.1856, 0.1749, 0.1746],
        [0.1709, 0.1519, 0.1534, 0.1732, 0.1821, 0.1735, 0.1485, 0.1593, 0.1657, 0.1556],
    ),
    "one-place-too-far": (
        [0.185, 0.1684, 0.1664, 0.1796, 0.1773, 0.2075, 0.1771, 0.1867, 0.1748, 0.1716],
        [0.1677, 0.1497, 0.1619, 0.1568, 0.1665, 0.1667, 0.1581, 0.1548, 0.1668, 0.156],
    ),
    "last-layer-only": (
        [0.1907, 0.1748, 0.1699, 0.1933, 0.1785, 0.1626, 0.1718, 0.1732, 0.1677, 0.1662],
        [0.1553, 0.1588, 0.1535, 0.162, 0.1615, 0.1611, 0.1693, 0.1618, 0.1653, 0.1555],
    ),
}
SENTENCES = {
    "chosen-anew": "On the new images the head was chosen again: what it has there is luck too.",
    "all-heads-averaged": "On the new images all 16 heads are averaged; the chosen head's score is asked for.",
    "other-images": "The chosen heads were scored on other images than those from 200 to 400.",
    "a-head-for-each-image": "Each of the five images has its own best head, where one is to be chosen for all.",
    "not-divided": "This is what falls on the object, not divided by all that falls on patches.",
    "column-of-the-class-token": "The maps are the class token's column: what patches take from it.",
    "one-place-too-far": "The maps hold the class token's weight for itself, and all others are a place too far.",
    "last-layer-only": "The heads of the last layer alone were scored; all 16 are asked for.",
}


def _runs(table: tuple[list[float], list[float]]) -> list[tuple[float, float]]:
    return list(zip(*table, strict=True))


KNOWN = {slip: _runs(table) for slip, table in OTHERWISE.items()}


@exercise(
    "9.4",
    "How much of a good head is luck?",
    section="Control 1: a model that knows nothing",
    difficulty=3,
    minutes=20,
    seconds=120,
)
def luck(answer):
    """`answer()` -> {"chosen": [...], "held_out": [...], "conclusion"}, five seeds or more."""
    received = named(call(answer), ("chosen", "held_out", "conclusion"))
    chosen, held_out = (shares(received[name], name, fewest=5) for name in ("chosen", "held_out"))
    paired({"chosen": chosen, "held_out": held_out})
    if chosen == held_out:
        raise Wrong("same-images", "chosen and held_out are the same: the head was scored on the images of the choice.")
    if slip := recognised(list(zip(chosen, held_out, strict=True)), _runs(RIGHT), KNOWN, 6e-4):
        slip = slip.removesuffix("-too")
        raise Wrong(slip, SENTENCES[slip])
    # Measured on 30 seeds: 0.17 to 0.24 with a mean of 0.19. The best head of each image has 0.25 on average.
    refuse(__name__, "luck", locals())
    said = choice(received["conclusion"], "conclusion", OPTIONS)
    stays = (mean(held_out) - CHANCE) / (mean(chosen) - CHANCE)
    if said != ("the head" if stays >= 0.5 else "the choice"):
        raise Wrong(
            "does-not-follow",
            "By the limit of the exercise, the conclusion is not what these numbers say.",
            [f"Of what lies above chance, {stays:.0%} stays on new images"],
        )
