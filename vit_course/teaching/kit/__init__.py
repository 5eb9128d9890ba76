"""The lab kit: one folder for a teacher, with sheets, answer keys, slides, a schedule and the page for the install."""
