"""Checks of chapter 08: attention maps, recorded, drawn and combined."""

# In the order of the chapter: the table of progress has the same.
# isort: off
from vit_course.checks.maps.class_map import class_map
from vit_course.checks.maps.record import record
from vit_course.checks.maps.rollout import rollout
from vit_course.checks.maps.distances import distances
from vit_course.checks.maps.way_up import way_up

__all__ = ["class_map", "distances", "record", "rollout", "way_up"]
