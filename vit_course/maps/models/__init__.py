"""What a Vision Transformer of any library is: its layers, its other tokens, its patches, its pictures and classes."""
