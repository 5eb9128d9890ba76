"""Learners' code in a process of its own, and the objects by which a check sees it from outside.

`learner` is the program of that process. `session` sends calls, values and gradients across, the same on both sides;
`wire` says what may cross, `modules` what a network looks like from the other side.
"""
