"""Answers to exercise further.wide."""

from answers import UNKNOWN, Answers

answers = Answers("further.wide")

answers.edits(
    (UNKNOWN, "14 * 14 + 1", "14 * 14 + 5"),
    ("width-of-a-head", "(14 * 14 + 1) * D", "(14 * 14 + 1) * d"),
    ("patch-vectors", "(14 * 14 + 1) * D", "(14 * 14 + 1) * 768"),
    ("not-rounded", "table // (layers * (2 * D + 1))", "table / (layers * (2 * D + 1))"),
    ("shift-counted", "2 * d * layers", "4 * d * layers"),
    ("width-of-a-head", "2 * D * layers", "2 * d * layers"),
    ("float-count", "2 * D * layers", "2.0 * D * layers"),
)


@answers.right
def by_hand():
    return {"swiglu": 1024, "table": 75648, "units": 8, "qk_norm": 1536, "layer_scale": 9216}


@answers.right
def two_thirds_as_wide():
    D, M, layers, heads = 384, 1536, 12, 6
    table = 197 * D
    return {
        "swiglu": M * 2 // 3,
        "table": table,
        "units": table // layers // (2 * D + 1),
        "qk_norm": layers * (D // heads + D // heads),
        "layer_scale": layers * (D + D),
    }


@answers.right
def counted_up():
    D, M, layers, d = 384, 1536, 12, 64
    mlp = (D * M + M) + (M * D + D)
    table = ((224 // 16) ** 2 + 1) * D
    swiglu = min(range(M), key=lambda m: abs(3 * D * m + 2 * m + D - mlp))
    units = max(n for n in range(100) if layers * n * (D + 1 + D) <= table)
    return {
        "swiglu": swiglu,
        "table": table,
        "units": units,
        "qk_norm": sum(2 * d for _ in range(layers)),
        "layer_scale": sum(2 * D for _ in range(layers)),
    }
