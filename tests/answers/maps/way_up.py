"""Answers to exercise maps.way_up."""

from answers import reported, right, unforeseen, wrong

PLAIN, SHUFFLED = [0.58, 0.52, 0.61], [0.38, 0.35, 0.4]
NOTHING = [0.004, 0.006, 0.005]  # what another patch, or none, would give
MEASURED = {"plain": PLAIN, "shuffled": SHUFFLED, "conclusion": "both"}


@right("maps.way_up")
def as_lists():
    return MEASURED


@right("maps.way_up")
def five_photographs():
    return MEASURED | {"plain": [*PLAIN, 0.5, 0.55], "shuffled": [*SHUFFLED, 0.3, 0.36]}


@right("maps.way_up")
def as_a_dict_of_another_order():
    return dict(reversed(MEASURED.items()))


reported("maps.way_up", MEASURED, "plain", "shuffled")


def _way_up(slug, **changes):
    wrong("maps.way_up", slug)(lambda: MEASURED | changes)


_way_up("does-not-follow", conclusion="place")
_way_up("does-not-follow", conclusion="content")
_way_up("runs-differ", plain=[*PLAIN, 0.5])
_way_up("not-shuffled", shuffled=PLAIN)
_way_up("not-the-patch-above", plain=NOTHING, shuffled=NOTHING[::-1])
_way_up("exchanged", plain=SHUFFLED, shuffled=PLAIN)
_way_up("queries-moved", shuffled=NOTHING)
_way_up("one-run-repeated", plain=PLAIN[:1] * 3)
_way_up("no-such-option", conclusion="position")
# The patch itself; the mean over the heads; the share of queries whose largest weight lies there.
_way_up("not-the-patch-above", plain=[0.1337, 0.1344, 0.1197], shuffled=[0.2813, 0.2975, 0.2691])
_way_up("not-the-patch-above", plain=[0.0907, 0.1091, 0.1099], shuffled=[0.0533, 0.0525, 0.0668])
_way_up("wrong-answer", plain=[0.7583, 0.8375, 0.8292], shuffled=[0.3875, 0.3375, 0.4875])
unforeseen("maps.way_up")(lambda: MEASURED | {"plain": [0.99, 0.98, 0.97]})
