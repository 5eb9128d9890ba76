"""`python -m vit_course classroom`: the exercises as an nbgrader course, from the class list to the marks."""

import signal

from vit_course._support.files.course_files import course
from vit_course._support.inputs.extras import extra
from vit_course.commands.console import say
from vit_course.commands.paths import check_new_file, path
from vit_course.teaching.classroom.isolation import NOT_PROTECTED, SANDBOXES, choose
from vit_course.teaching.classroom.sandbox import DEFAULT_LIMITS, Limits

LIMITS = {
    "memory": "gigabytes that one submission may take",
    "disk": "gigabytes of files that one submission may write",
    "processes": "processes and threads that one submission may have",
    "minutes": "minutes that one submission may take",
    "cell_seconds": "seconds that one cell may take",
}


def add_to(commands) -> None:
    """Adds this command to the subparsers of the command line."""
    classroom = commands.add_parser(
        "classroom",
        help="make an nbgrader course of the exercises, and grade what comes back",
        description="Makes an nbgrader course folder: one assignment per chapter, with solutions and hidden tests. "
        "Grades submissions in a sandbox. res/teachers_guide.md says how to use it with a class.",
    )
    steps = classroom.add_subparsers(required=True, metavar="STEP")
    make = steps.add_parser("make", help="make the course folder")
    make.add_argument("folder", type=path, help="the course folder to make")
    make.add_argument("--chapters", nargs="+", metavar="NN", help="only these, such as 00 04 (default: all)")
    make.add_argument(
        "--overwrite", action="store_true", help="rewrite the assignments in a folder that already exists"
    )
    make.set_defaults(run=run_make)
    grade = steps.add_parser("grade", help="run and grade the submissions of an assignment")
    grade.add_argument("folder", type=path, help="the course folder")
    grade.add_argument("assignment", help="such as 04_attention")
    grade.add_argument("--student", nargs="+", metavar="ID", help="only these (default: all)")
    grade.add_argument("--jobs", type=int, default=1, metavar="N", help="how many at the same time (default: 1)")
    grade.add_argument("--force", action="store_true", help="grade again what is already graded")
    grade.add_argument(
        "--isolation",
        choices=list(SANDBOXES),
        help="how their code is isolated (default: the first of these that works here)",
    )
    grade.add_argument(
        "--unprotected",
        action="store_true",
        help=f"grade even if none of these works, though then {NOT_PROTECTED}",
    )
    for name, words in LIMITS.items():
        default = getattr(DEFAULT_LIMITS, name)
        option = f"--{name.replace('_', '-')}"
        grade.add_argument(option, type=type(default), metavar="N", help=f"{words} (default: {default:g})")
    grade.set_defaults(run=run_grade)
    _add_lists(steps)


def _add_lists(steps) -> None:
    roster = steps.add_parser("roster", help="import a class list into the gradebook")
    roster.add_argument("folder", type=path, help="the course folder")
    roster.add_argument(
        "list", type=path, help="a CSV file: Moodle's participants, Canvas's gradebook, or id and email"
    )
    roster.add_argument("--id-column", metavar="NAME", help="the column with the names of the submissions' folders")
    roster.set_defaults(run=run_roster)
    export = steps.add_parser("export", help="write the marks as CSV, for Moodle, Canvas or a table")
    export.add_argument("folder", type=path, help="the course folder")
    export.add_argument("--form", choices=["table", "moodle", "canvas"], default="table", help="default: table")
    export.add_argument("-o", "--out", type=path, help="the file (default: FORM.csv in the course folder)")
    export.add_argument("--assignment", nargs="+", default=[], metavar="NAME", help="only these (default: all)")
    export.add_argument("--student", nargs="+", default=[], metavar="ID", help="only these (default: all)")
    export.add_argument("--force", action="store_true", help="overwrite the file if it exists")
    export.add_argument(
        "--unlisted", action="store_true", help="also learners who are in no class list that was imported"
    )
    export.add_argument("--missing-is-zero", action="store_true", help="for Moodle and Canvas: 0 for no submission")
    export.set_defaults(run=run_export)


def _workflow():
    with extra("classroom", "a classroom"):
        from vit_course.teaching.classroom import workflow
    return workflow


def run_make(options) -> int:
    """Makes the nbgrader course and says what to do next; returns 0."""
    with extra("classroom", "a classroom"):
        from vit_course.teaching.classroom.course import make_course

    names = make_course(course() / "notebooks", options.folder, options.chapters, options.overwrite)
    say(f"{options.folder}: {len(names)} assignments: {', '.join(names)}")
    say(f"next: cd {options.folder} && nbgrader generate_assignment {names[0]} --create")
    return 0


def run_grade(options) -> int:
    """Grades the submissions of an assignment; returns 0, or 1 if a submission has no mark."""
    if options.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {options.jobs}")
    limits = {name: value for name in LIMITS if (value := getattr(options, name)) is not None}
    Limits(**limits)  # or an error, before anything is graded
    settings = [f"--RunInSandbox.{name}={value}" for name, value in limits.items()]
    workflow = _workflow()
    sandbox = choose(options.isolation, options.unprotected)
    given = (options.student or (), options.force, options.jobs, settings)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # stops as after Ctrl+C
    return workflow.grade(options.folder, options.assignment, sandbox, *given)


def run_roster(options) -> int:
    """Imports a class list into the gradebook; returns 0."""
    say(_workflow().take_roster(options.folder, options.list, options.id_column))
    return 0


def run_export(options) -> int:
    """Writes the marks in the form that was asked for; returns 0."""
    workflow = _workflow()
    out = options.out or options.folder / f"{options.form}.csv"
    check_new_file(out, ".csv", options.force)
    forms = (options.form, out, options.assignment, options.student, options.missing_is_zero, options.unlisted)
    for line in workflow.export(options.folder, *forms).split("\n"):
        say(line)
    return 0
