"""Answers to exercise evidence.luck: what the worked solution measures, and what it measures with a slip."""

from answers import reported, right, unforeseen, wrong

ORDER = (2, 1, 0, 3, 4)  # of the seeds, so that the slips differ clearly in the run that the check makes again
CHOSEN, HELD_OUT = [0.1995, 0.1748, 0.1699, 0.1933, 0.1862], [0.1619, 0.1588, 0.1535, 0.162, 0.1748]
ROUNDED = {"chosen": [0.2, 0.17, 0.17, 0.19, 0.19], "held_out": [0.16, 0.16, 0.15, 0.16, 0.17]}


def _luck(**changes) -> dict:
    said = {"seeds": [0, 1, 2, 3, 4], "chosen": CHOSEN, "held_out": HELD_OUT, "conclusion": "the choice"} | changes
    of_each = [name for name, one in said.items() if isinstance(one, list) and len(one) == 5]
    return said | {name: [said[name][place] for place in ORDER] for name in of_each}


MEASURED = _luck()

right("evidence.luck")(lambda: MEASURED)
right("evidence.luck")(lambda: _luck(**ROUNDED))
right("evidence.luck")(lambda: MEASURED | {"seeds": tuple(MEASURED["seeds"])})
reported("evidence.luck", MEASURED, "chosen", "held_out", fewest=5)

for slug, changes in (
    ("does-not-follow", dict(conclusion="the head")),
    ("no-such-option", dict(conclusion="luck")),
    ("runs-differ", dict(chosen=[*CHOSEN, 0.2])),
    ("runs-differ", dict(seeds=range(6))),
    ("too-few-runs", dict(seeds=[0, 1, 2, 3])),
    ("one-run-repeated", dict(seeds=[0, 1, 2, 3, 3])),
    ("wrong-type", dict(seeds=5)),
    ("same-images", dict(held_out=CHOSEN)),
    ("on-the-new-images", dict(chosen=HELD_OUT, held_out=CHOSEN)),
    ("trained-model", dict(chosen=[0.5174] * 5, held_out=[0.5021] * 5)),
    ("not-repeated", dict(seeds=[5, 6, 7, 8, 9])),
    ("not-repeated", dict(held_out=[0.16] * 5, chosen=[0.35] * 5)),
    # Each slip measured for seeds 0 to 4.
    ("chosen-on-many", dict(
        chosen=[0.175, 0.1672, 0.1677, 0.1835, 0.1694], held_out=[0.1746, 0.1674, 0.1678, 0.1838, 0.1697])),
    ("chosen-anew", dict(held_out=[0.1746, 0.1631, 0.1652, 0.1791, 0.1748], conclusion="the head")),
    ("other-images", dict(held_out=[0.1602, 0.1592, 0.1533, 0.1615, 0.1707])),
    ("other-images", dict(held_out=[0.1585, 0.1595, 0.1531, 0.161, 0.1667])),
    ("all-heads-averaged", dict(held_out=[0.1611, 0.155, 0.1529, 0.1552, 0.1556])),
    ("a-head-for-each-image", dict(chosen=[0.2798, 0.224, 0.2147, 0.2492, 0.2523])),
    ("not-divided", dict(
        chosen=[0.1972, 0.1715, 0.1671, 0.1897, 0.184], held_out=[0.1598, 0.156, 0.1509, 0.1588, 0.1723])),
    ("column-of-the-class-token", dict(
        chosen=[0.2194, 0.1815, 0.179, 0.2033, 0.2052], held_out=[0.1709, 0.1519, 0.1534, 0.1732, 0.1821])),
    ("one-place-too-far", dict(
        chosen=[0.185, 0.1684, 0.1664, 0.1796, 0.1773], held_out=[0.1677, 0.1497, 0.1619, 0.1568, 0.1665])),
    ("last-layer-only", dict(
        chosen=[0.1907, 0.1748, 0.1699, 0.1933, 0.1785], held_out=[0.1553, 0.1588, 0.1535, 0.162, 0.1615])),
    ("worst-head", dict(
        chosen=[0.1454, 0.1257, 0.1335, 0.0899, 0.1289], held_out=[0.1511, 0.1477, 0.1551, 0.136, 0.139])),
    ("chance-taken-away", dict(
        chosen=[0.0495, 0.0248, 0.0199, 0.0433, 0.0362], held_out=[0.0119, 0.0088, 0.0035, 0.012, 0.0248])),
):  # fmt: skip
    wrong("evidence.luck", slug)(lambda changes=changes: _luck(**changes))
unforeseen("evidence.luck")(lambda: _luck(held_out=[0.02, 0.03, 0.01, 0.02, 0.04]))
