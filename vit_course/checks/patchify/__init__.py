"""Checks of chapter 01: patches and patch tokens."""
