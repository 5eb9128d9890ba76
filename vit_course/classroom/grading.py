"""Settings with which nbgrader grades this course. Read by a course's nbgrader_config.py."""

import os
import re
import sys
from pathlib import Path

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import ClearHiddenTests, GetGrades

GUARD = Path(__file__).parent / "guard"
# A check stops the learner's code after 20 seconds, that of the capstone's training after 60, and the hidden tests run
# it twice more; a cell that loops by itself is stopped after this.
CELL_SECONDS = 240


class HideHiddenTests(ClearHiddenTests):
    """Takes hidden tests out of the feedback, and the tracebacks that would quote them."""

    def preprocess_cell(self, cell, resources, cell_index):
        """Clears one cell."""
        if cell.metadata.get("nbgrader", {}).get("grade"):
            for output in cell.get("outputs", []):
                if output.output_type == "error":
                    output.traceback = [f"{output.ename}: {output.evalue}"]
            # A cell that was added back, or whose lines were lost, must not stop the feedback.
            cell.source = re.sub(
                r"### BEGIN HIDDEN TESTS.*?(### END HIDDEN TESTS\n?|\Z)", "", cell.source, flags=re.DOTALL
            )
        return cell, resources


def configure(c, config_file: str) -> None:
    """Sets what this course needs; whatever a teacher sets afterwards overrules it.

    Args:
        c: nbgrader's configuration.
        config_file: the course's nbgrader_config.py, whose folder is the course.
    """
    course = str(Path(config_file).resolve().parent)
    c.CourseDirectory.root = course
    c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
    c.OverwriteCells.add_missing_cells = True
    c.Execute.timeout = CELL_SECONDS
    c.GenerateFeedback.preprocessors = [GetGrades, HideHiddenTests, CSSHTMLHeaderPreprocessor]
    # nbgrader calls alembic, which lies beside this Python and need not be on the path.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    # Kernels inherit these; guard/sitecustomize.py acts while nbgrader grades and at no other time.
    os.environ["VIT_COURSE_CLASSROOM"] = course
    paths = [str(GUARD), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(paths))
