"""Answers to the exercises of chapter 11."""
