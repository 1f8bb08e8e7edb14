"""The routes of purges."""
