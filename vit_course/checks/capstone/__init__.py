"""Checks of chapter 12: the whole Vision Transformer, part by part, then trained."""
