"""Checks of chapter 03: position embeddings."""
