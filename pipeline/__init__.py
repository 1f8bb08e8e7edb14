"""What happened, kept for longer than the database keeps it: the archive and what is made of it, on Spark.

Modules that run in Spark's workers (`kinds`, `parts`, `files`, `extracting`) know neither Django nor the other rooms,
so that the folder as a zip file is all that a cluster needs. Nobody but the console imports this room.
"""
