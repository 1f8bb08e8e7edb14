"""SQL of the engine's queries, a file for each statement of several lines and a folder for each topic.

`queues.database.query.query_text` reads one; its header says what it returns. The pipeline reads those in `archive/` as
files, also in Spark's tasks, which have this package in a zip file.
"""
