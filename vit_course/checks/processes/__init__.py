"""Checks of chapter 14: gradients put together, shares of a batch, a step in parts, a larger batch."""
