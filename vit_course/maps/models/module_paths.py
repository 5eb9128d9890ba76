"""Paths of modules, such as "encoder.blocks.3"."""


def is_inside(path: str, of: str) -> bool:
    """Whether the module at `path` is the module at `of`, or a part of it."""
    return not of or f"{path}.".startswith(f"{of}.")


def holders(path: str) -> list[str]:
    """The paths of the modules that hold the one at `path`, from the outermost in, and `path` itself.

    "a.b" -> ["", "a", "a.b"]
    """
    parts = path.split(".") if path else []
    return [".".join(parts[:end]) for end in range(len(parts) + 1)]


def few(paths: list[str]) -> str:
    """Joins the first three of many names, and adds how many more there are."""
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
