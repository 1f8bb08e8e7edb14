"""Spark for the pipeline: in this process, on a Spark cluster, or in a server that this machine keeps."""
