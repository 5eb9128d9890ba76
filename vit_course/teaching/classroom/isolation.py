"""Chooses the sandbox for submissions: podman, docker or bubblewrap, whichever works on this machine."""

from vit_course._support.inputs.rules import harmless
from vit_course.teaching.classroom.containers import Container
from vit_course.teaching.classroom.sandbox import NOT_PROTECTED, Bubblewrap, Sandbox

SANDBOXES = {"podman": Container("podman"), "docker": Container("docker"), "bubblewrap": Bubblewrap()}


def sandbox_named(name: str) -> Sandbox:
    """The sandbox of this name, as `choose` has found it.

    Raises:
        ValueError: there is no sandbox of that name.
    """
    ways = {**SANDBOXES, Sandbox.name: Sandbox()}
    if name not in ways:
        raise ValueError("grade with `python -m vit_course classroom grade`, not with `nbgrader autograde`")
    return ways[name]


def choose(wanted: str | None = None, unprotected: bool = False) -> Sandbox:
    """The first sandbox that works on this machine, or the one of this name.

    Args:
        wanted: one of `SANDBOXES`; by default any.
        unprotected: accept no sandbox where none works.

    Raises:
        ValueError: none works, or the wanted one does not, and `unprotected` is False.
    """
    reasons = []
    for name in [wanted] if wanted else SANDBOXES:
        why = SANDBOXES[name].why_not()
        if not why:
            return SANDBOXES[name]
        reasons.append(f"{name}: {harmless(why)}")
    if unprotected:
        return Sandbox()
    raise ValueError(
        f"no sandbox works here ({'; '.join(reasons)}), and without one {NOT_PROTECTED}. Install one (on Debian and "
        "Ubuntu: apt install bubblewrap), or grade with --unprotected"
    )
