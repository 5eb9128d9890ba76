"""The exercises as an nbgrader course. nbgrader releases, collects, grades and keeps the gradebook."""

from vit_course.classroom.course import make_course
from vit_course.classroom.exercises import HOLE, ExerciseCells, exercises_of, load, with_holes

__all__ = ["HOLE", "ExerciseCells", "exercises_of", "load", "make_course", "with_holes"]
