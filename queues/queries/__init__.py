"""Queries over the engine's tables for other rooms, a folder for each topic.

`queues.database.query.query_text` reads one. The pipeline reads those in `archive/` as files, also in Spark's tasks,
which have this package in a zip file.
"""
