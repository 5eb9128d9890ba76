"""Files: written atomically, and validated before they are used."""
