"""A page at rest, and what axe finds wrong in it."""

from axe_playwright_python.sync_playwright import Axe

# A colour on its way from one to another is neither.
AT_REST = """() => document.fonts.status === "loaded" && document.getAnimations().every((one) =>
    !(one instanceof CSSTransition) || one.playState !== "running")"""


def at_rest(page) -> None:
    """Waits until every font is there and every transition has ended."""
    page.wait_for_function(AT_REST)


def violations(page, context: str | None = None) -> list[tuple[str, list[str]]]:
    """What breaks a rule in the page at rest, or in the part of it that a selector names: rule and elements."""
    at_rest(page)
    # A file may read no other, so no style sheet is fetched again.
    options = {"preload": False, "resultTypes": ["violations"]}
    found = Axe().run(page, context=context, options=options).response["violations"]
    return [(rule["id"], [node["html"][:300] for node in rule["nodes"]]) for rule in found]
