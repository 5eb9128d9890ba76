"""Checks of chapter 11: a given mask as places, and the loss of a masked autoencoder."""
