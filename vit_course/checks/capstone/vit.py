"""Exercise capstone.vit: the whole model."""

from vit_course.checks.tools.whole import right_model


def vit(answer, draw):
    """`answer(image_size, patch_size, in_channels, num_classes, hidden_dim, num_layers, num_heads, mlp_dim)`."""
    right_model(answer, lambda sizes: sizes, draw, biases=False, axes="(B, classes)")
