"""The exercises as an nbgrader course. nbgrader releases, collects, grades and keeps the gradebook."""

import sys

# jsonschema, which reads notebooks, imports this for seconds in each process, and checks with it what no notebook has.
sys.modules.setdefault("rfc3987_syntax", None)
