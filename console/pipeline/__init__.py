"""The pages of the archive, replays and failure analysis."""
