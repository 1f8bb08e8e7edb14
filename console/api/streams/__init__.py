"""The routes of streams: creating, appending, reading in consumer groups, committing and seeking."""
