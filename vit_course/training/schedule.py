"""The learning rate, step by step."""

import math


def warmup_cosine(step: int, total_steps: int, warmup: float) -> float:
    """The share of the peak learning rate at `step`: a line from 0 up to 1, then half a cosine down to 0.

    Source: Loshchilov & Hutter 2016 (arXiv:1608.03983), Eq. 5, without restarts; Dosovitskiy et al. 2020, Table 3.
    """
    warmup_steps = max(1, round(warmup * total_steps))
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return 0.5 * (1 + math.cos(math.pi * (step - warmup_steps) / max(1, total_steps - warmup_steps)))
