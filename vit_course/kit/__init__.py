"""The lab kit: one folder for a teacher, with sheets, answer keys, slides, a schedule and the page for the install."""

_PLACES = {"write_kit": "folder"}
__all__ = ["write_kit"]


def __getattr__(name: str):
    # On demand: reading notebook files and setting type take seconds to load.
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
