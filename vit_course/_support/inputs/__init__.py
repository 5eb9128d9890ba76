"""What enters is looked at once, by the same rules everywhere: values by name (no PyTorch needed), and tensors."""
