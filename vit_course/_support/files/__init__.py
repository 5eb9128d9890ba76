"""Files: written whole or not at all, and looked at before they are used."""
