"""Entry point of `python -m vit_course`.

Any Python can parse this file, so that one that is too old gets an error message instead of a traceback.
"""

import sys

OLDEST = (3, 11)


def main(arguments=None):
    """Runs one command and returns its exit code; by default with the arguments of the command line."""
    if sys.version_info < OLDEST:
        words = "error: the course needs Python {}.{} or newer, this one is {}.{}: {}\n"
        sys.stderr.write(words.format(*OLDEST, *sys.version_info[:2], sys.executable))
        return 1
    try:
        from vit_course.commands.program import main as run

        return run(arguments)
    except KeyboardInterrupt as interrupt:  # its text says how to resume an interrupted training
        sys.stderr.write("\n" + "; ".join(["stopped", *map(str, interrupt.args)]) + "\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
