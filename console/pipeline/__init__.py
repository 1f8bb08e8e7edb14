"""Pages of archive runs, replays and failure analyses."""
