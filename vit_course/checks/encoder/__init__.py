"""Checks of chapter 05: a branch dropped whole, a stack, what a change does, an experiment with a warm-up."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.encoder.drop_branch import drop_branch
from vit_course.checks.encoder.stack import stack
from vit_course.checks.encoder.predict import predict
from vit_course.checks.encoder.warm_up import warm_up

__all__ = ["drop_branch", "predict", "stack", "warm_up"]
