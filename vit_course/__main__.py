"""`python -m vit_course`. Written so that any Python can read it, and says what it lacks instead of a traceback."""

import sys

OLDEST = (3, 11)


def main(arguments=None):
    """Runs one command, with the words behind `python -m vit_course` by default; returns its exit code."""
    if sys.version_info < OLDEST:
        words = "error: the course needs Python {}.{} or newer, this one is {}.{}: {}\n"
        sys.stderr.write(words.format(*OLDEST, *sys.version_info[:2], sys.executable))
        return 1
    try:
        from vit_course.commands.program import main as run

        return run(arguments)
    except KeyboardInterrupt as interrupt:  # of a training it says how to go on
        sys.stderr.write("\n" + "; ".join(["stopped", *map(str, interrupt.args)]) + "\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
