"""The exercises as an nbgrader course. nbgrader releases, collects, grades and keeps the gradebook."""
