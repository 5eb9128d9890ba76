"""What the seven photographs of exercise pretrained.blocks give: an overlap for each of four blocks, and by slips.

One row for each labelled photograph: astronaut, cat, coffee, dahlia, grace_hopper, pagoda, photographer.
"""

RIGHT = [
    [0.667, 0.713, 0.857, 0.932],
    [0.487, 0.475, 0.471, 0.596],
    [0.503, 0.648, 0.669, 0.848],
    [0.39, 0.396, 0.573, 0.854],
    [0.559, 0.653, 0.74, 0.825],
    [0.397, 0.542, 0.391, 0.804],
    [0.35, 0.439, 0.607, 0.935],
]
ITSELF = [
    [0.971, 0.993, 1.0, 0.971],
    [0.991, 0.996, 0.991, 0.967],
    [0.983, 0.989, 0.994, 0.983],
    [1.0, 1.0, 0.989, 0.989],
    [0.993, 0.993, 0.993, 0.98],
    [1.0, 0.968, 0.989, 0.978],
    [0.989, 0.977, 1.0, 0.954],
]  # the overlap on the labelled photograph
SLIPS = {
    "labelled-counted": [
        [(6 * new + own) / 7 for new, own in zip(*both, strict=True)] for both in zip(RIGHT, ITSELF, strict=True)
    ],
    "labelled-alone": ITSELF,
    "divided-by-seven": [[6 * new / 7 for new in row] for row in RIGHT],
    "blocks-from-one": [
        [0.667, 0.688, 0.78, 0.902],
        [0.531, 0.476, 0.476, 0.495],
        [0.492, 0.542, 0.613, 0.888],
        [0.387, 0.449, 0.578, 0.74],
        [0.594, 0.604, 0.669, 0.886],
        [0.494, 0.488, 0.498, 0.853],
        [0.352, 0.401, 0.387, 0.811],
    ],
    "class-token-kept": [
        [0.624, 0.638, 0.713, 0.785],
        [0.474, 0.475, 0.475, 0.465],
        [0.498, 0.54, 0.56, 0.796],
        [0.384, 0.341, 0.359, 0.629],
        [0.546, 0.618, 0.653, 0.798],
        [0.348, 0.531, 0.349, 0.68],
        [0.315, 0.363, 0.547, 0.749],
    ],
    "before-the-mlp": [
        [0.66, 0.685, 0.851, 0.927],
        [0.48, 0.475, 0.468, 0.589],
        [0.503, 0.616, 0.637, 0.849],
        [0.382, 0.283, 0.636, 0.843],
        [0.598, 0.65, 0.673, 0.816],
        [0.469, 0.43, 0.349, 0.791],
        [0.35, 0.386, 0.491, 0.935],
    ],
    "accuracies": [
        [0.768, 0.828, 0.926, 0.963],
        [0.5, 0.477, 0.475, 0.702],
        [0.577, 0.747, 0.773, 0.914],
        [0.46, 0.675, 0.751, 0.921],
        [0.624, 0.754, 0.839, 0.902],
        [0.576, 0.676, 0.631, 0.889],
        [0.475, 0.577, 0.753, 0.961],
    ],
}
SENTENCES = {
    "labelled-counted": "These are means over all seven photographs: the head has seen the labels of one of them.",
    "labelled-alone": "These are overlaps on the labelled photograph itself, which the head has seen.",
    "divided-by-seven": "The sum over six photographs is divided by seven.",
    "blocks-from-one": "These are the tokens of the blocks before: blocks count from 0.",
    "class-token-kept": "The class token counts as a patch and the last one is missing: labels and tokens are shifted.",
    "before-the-mlp": "These are the tokens between attention and MLP of each block, not those behind the block.",
    "accuracies": "These are shares of patches that are right; the overlap leaves out what both call background.",
}
