"""What the other folders share, and no chapter imports: arguments, files, widgets."""
