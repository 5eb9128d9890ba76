"""Checks of chapter 00: one image or many, sizes by hand, an experiment on the forty lines."""
