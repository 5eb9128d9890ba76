"""Checks of chapter 12, on five later parts and their sizes, and of chapter 14, on a batch in several processes."""
