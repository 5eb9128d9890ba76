"""The command line: what `python -m vit_course` and `vit-course` do."""

import argparse

from vit_course._support.inputs.rules import harmless
from vit_course.commands import (
    check,
    classify,
    classroom,
    explore,
    failures,
    kit,
    lab,
    live,
    play,
    site,
    train,
)

COMMANDS = (lab, train, explore, classify, classroom, kit, live, play, site, check)


def main(arguments: list[str] | None = None) -> int:
    """Runs one command; returns the exit code.

    0 for success, 1 for an unexpected error or if `check` finds something missing, 2 for bad input. A
    KeyboardInterrupt is passed on to `__main__`, which exits with 130.
    """
    parser = argparse.ArgumentParser(prog="python -m vit_course", description="The Vision Transformer, step by step.")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(subparsers)
    parser.set_defaults(debug=False, takes_more=False)
    for each in (parser, *subparsers.choices.values()):
        # `lab` passes --debug on to JupyterLab. SUPPRESS, or a subparser's default would overwrite the main value.
        if not each.get_default("takes_more"):
            each.add_argument(
                "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
            )
    options, options.rest = parser.parse_known_args(arguments)
    if options.rest and not options.takes_more:
        parser.error(harmless(f"unrecognized arguments: {' '.join(options.rest)}"))
    try:
        return options.run(options)
    except Exception as error:
        return failures.explain(error, options.debug)
