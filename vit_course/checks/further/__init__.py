"""Checks of chapter 12: shares of a batch, gradients put together, a step in parts, a larger batch, rotary
positions on a grid."""
