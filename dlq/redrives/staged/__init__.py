"""Redrives of archived messages, which a replay has staged."""
