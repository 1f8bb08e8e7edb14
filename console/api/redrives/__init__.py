"""The routes of redrives."""
