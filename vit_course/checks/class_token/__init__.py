"""Checks of chapter 02: the class token."""
