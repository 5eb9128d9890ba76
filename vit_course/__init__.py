"""The finished components of the Vision Transformer course, importable one by one.

Notation, the same everywhere: B batch, C channels, H x W image, P patch side, N = HW / P^2 patches,
T tokens (N + 1 with a class token), D hidden width, h heads, d = D / h head width, L layers.
"""

__version__ = "1.0.0"


def check_installation(*extras: str) -> tuple[str, bool]:
    """-> (a line for each package that the chapters need, whether all is well), as `python -m vit_course check` says.

    Args:
        extras: further ones whose packages are looked at too, such as "classroom".
    """
    from vit_course.commands.check import report

    return report(*extras)
