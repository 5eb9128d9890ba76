"""Checks of chapter 11: a given mask as places, a masked loss, a teacher's update, balanced targets, an experiment with
the teacher's temperature."""
