"""Checks of chapter 15: images and words."""
