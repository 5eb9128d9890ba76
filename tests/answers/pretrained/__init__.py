"""Answers to the exercises of chapter 10."""
