"""The command line: what `python -m vit_course` and `vit-course` do."""

import argparse

from vit_course._support.inputs.rules import harmless
from vit_course.commands import (
    check,
    classify,
    classroom,
    explore,
    failures,
    interrupts,
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

    0 done, 1 something unexpected, or the check found something, 2 bad input, 130 interrupted.
    """
    parser = argparse.ArgumentParser(prog="python -m vit_course", description="The Vision Transformer, step by step.")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add_to(subparsers)
    parser.set_defaults(debug=False, takes_more=False)
    for each in (parser, *subparsers.choices.values()):
        # JupyterLab has a --debug of its own, which goes to it. Suppressed, or the second would undo the first.
        if not each.get_default("takes_more"):
            each.add_argument(
                "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
            )
    options, options.rest = parser.parse_known_args(arguments)
    if options.rest and not options.takes_more:
        parser.error(harmless(f"unrecognized arguments: {' '.join(options.rest)}"))
    try:
        code = options.run(options)
        if interrupts.was_pressed():  # and something has swallowed it
            raise KeyboardInterrupt
        return code
    except KeyboardInterrupt as interrupt:
        return failures.stopped(interrupt)
    except Exception as error:
        # Some libraries make another error of it.
        return failures.stopped() if interrupts.was_pressed() else failures.explain(error, options.debug)
