"""Checks of chapter 09: what attention maps are evidence for."""
