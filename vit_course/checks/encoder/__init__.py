"""Checks of chapter 05: a branch dropped whole, a stack, what a change does, an experiment with a warm-up."""
