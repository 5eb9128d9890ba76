"""Checks of chapter 10: published weights."""
