"""Checks of input, by the same rules everywhere: of arguments by name, without PyTorch, and of tensors."""
