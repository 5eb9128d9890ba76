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
_way_up("largest-counted", plain=[0.7583, 0.8375, 0.8292], shuffled=[0.3875, 0.3375, 0.4875])
# The same three photographs without the class token, with it, and with the queries of the first row.
_way_up("rescaled", plain=[0.494, 0.584, 0.6], shuffled=[0.286, 0.294, 0.36])
_way_up("class-token-kept", plain=[0.4844, 0.5739, 0.5886], shuffled=[0.2788, 0.2878, 0.348])
_way_up("first-row-counted", plain=[0.4526, 0.5368, 0.5511], shuffled=[0.2587, 0.2678, 0.3239])
# Right, of the same and of others; and where the numbers are rounded too much to tell.
for plain in ([0.4827, 0.5725, 0.5878], [0.483, 0.573, 0.588, 0.584], [0.48, 0.57, 0.59], [0.49, 0.58, 0.6]):
    shuffled = [0.276, 0.286, 0.345, 0.3][: len(plain)]
    right("maps.way_up")(lambda plain=plain, shuffled=shuffled: MEASURED | {"plain": plain, "shuffled": shuffled})
unforeseen("maps.way_up")(lambda: MEASURED | {"plain": [0.99, 0.98, 0.97]})
