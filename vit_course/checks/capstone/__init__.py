"""Checks of chapter 13: the whole Vision Transformer, part by part, then trained."""
