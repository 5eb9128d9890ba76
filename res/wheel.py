"""Puts the course itself into a wheel: chapters, weights, photographs, diagrams, as `vit_course/course/`."""

from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CARRIED = ("notebooks", "res", "docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
# What a use of the course leaves in its folders.
LEFT_OUT = ("__pycache__", ".ipynb_checkpoints", ".ruff_cache", "last.safetensors")


class Course(BuildHookInterface):
    """Hatchling's hook: adds the course's files to what is built."""

    def initialize(self, version: str, build_data: dict) -> None:
        """Names each file and its place in the wheel; nothing for an editable install."""
        if version == "editable":
            return
        root = Path(self.root)
        for name in CARRIED:
            place = root / name
            for path in [place] if place.is_file() else sorted(place.rglob("*")):
                inner = path.relative_to(root)
                if path.is_file() and not set(inner.parts) & set(LEFT_OUT):
                    build_data["force_include"][str(path)] = f"vit_course/course/{inner.as_posix()}"
