"""Checks of chapter 07: the evaluation, a step, decay groups, curves, an experiment."""
