"""Checks of chapter 06: predictions, batch mates, a whole model, an experiment with the head."""
