"""The data pipeline: the archive of settled messages, and the rollups, failure analysis and replays made from it.

Modules that run in Spark's workers import neither Django nor other packages of this project, so that a Spark cluster
needs only a zip file of them (`pipeline.spark.packing`). Only the console imports this package.
"""
