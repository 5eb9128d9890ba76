"""Tools for teaching and publishing the course: the classroom, the kit, the site, and a learner's copy."""
