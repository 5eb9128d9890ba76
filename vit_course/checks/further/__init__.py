"""Checks of chapter 12: rotary positions on a grid, sizes of five parts, a block to debug, QK-norm on several seeds."""
