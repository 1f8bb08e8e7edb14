"""The documentation of this version, readable in the console."""
