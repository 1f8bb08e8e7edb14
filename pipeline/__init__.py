"""History kept for longer than the database keeps it: the archive, and the products that Spark computes from it.

Modules that run in Spark's workers (`schemas`, `parts`, `files`, `extracting`) know neither Django nor the other rooms,
so that a zip file of these folders is all that a Spark cluster needs. Only the console imports this room.
"""
