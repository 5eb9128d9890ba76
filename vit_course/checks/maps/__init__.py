"""Checks of chapter 08: attention maps, recorded, drawn and combined."""
