"""Checks of chapter 04: attention weights, heads, self-attention."""
