"""For whoever teaches or publishes the course: the classroom, the kit, the site, and the copy of a learner."""
