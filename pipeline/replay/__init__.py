"""Replay: what a filter chooses from the archive is staged, and sent again by a plan."""
