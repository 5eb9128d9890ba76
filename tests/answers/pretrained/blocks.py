"""Answers to exercise pretrained.blocks: what the worked solution measures, and what it measures with a slip."""

from answers import reported, right, unforeseen, wrong

MEASURED = {
    "photographs": ["astronaut", "dahlia", "photographer"],
    "block 2": [0.667, 0.39, 0.35],
    "block 5": [0.713, 0.396, 0.439],
    "block 8": [0.857, 0.573, 0.608],
    "block 11": [0.932, 0.854, 0.935],
    "conclusion": "block 11",
}
BLOCKS = [name for name in MEASURED if name.startswith("block")]

right("pretrained.blocks")(lambda: {name: one if name == "conclusion" else one[::-1] for name, one in MEASURED.items()})
reported("pretrained.blocks", MEASURED, *BLOCKS)

for slug, changes in (
    ("does-not-follow", dict(conclusion="block 8")),
    ("too-careful", dict(conclusion="unclear")),
    ("no-such-option", dict(conclusion=11)),
    ("no-such-option", dict(photographs=["astronaut", "dahlia", "dog"])),
    ("one-run-repeated", dict(photographs=["astronaut", "dahlia", "dahlia"])),
    ("too-few-runs", dict(photographs=["astronaut", "dahlia"])),
    ("class-token-kept", {"block 8": [0.713, 0.359, 0.547], "block 11": [0.785, 0.629, 0.749]}),
    ("wrong-type", dict(photographs="astronaut")),
    ("runs-differ", dict(photographs=["astronaut", "dahlia", "photographer", "cat"])),
):
    wrong("pretrained.blocks", slug)(lambda changes=changes: MEASURED | changes)
wrong("pretrained.blocks", "wrong-type")(lambda: ({2: [0.67, 0.39, 0.35]}, 11))

# Each slip measured with these three photographs.
for slug, *runs in (
    ("labelled-counted", [0.711, 0.753, 0.877, 0.937], [0.477, 0.483, 0.632, 0.874], [0.441, 0.516, 0.664, 0.938]),
    ("labelled-alone", [0.971, 0.993, 1.0, 0.971], [1.0, 1.0, 0.989, 0.989], [0.989, 0.977, 1.0, 0.954]),
    ("divided-by-seven", [0.572, 0.611, 0.734, 0.799], [0.334, 0.34, 0.491, 0.732], [0.3, 0.377, 0.521, 0.801]),
    ("block-before", [0.667, 0.688, 0.78, 0.902], [0.387, 0.449, 0.578, 0.74], [0.352, 0.401, 0.387, 0.811]),
    ("accuracies", [0.768, 0.828, 0.926, 0.963], [0.46, 0.675, 0.751, 0.921], [0.475, 0.577, 0.753, 0.961]),
    ("before-the-mlp", [0.66, 0.685, 0.851, 0.927], [0.382, 0.283, 0.636, 0.843], [0.35, 0.386, 0.491, 0.935]),
    ("not-repeated", [0.923] * 4, [0.826] * 4, [0.936] * 4),
):
    columns = zip(BLOCKS, map(list, zip(*runs, strict=True)), strict=True)
    wrong("pretrained.blocks", slug)(lambda changes=dict(columns): MEASURED | changes)
unforeseen("pretrained.blocks")(lambda: MEASURED | {"block 2": [0.31, 0.28, 0.35], "block 11": [0.34, 0.25, 0.32]})
