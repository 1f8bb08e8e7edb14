"""Where it runs: Spark in this process, on a cluster, or in a server that this machine keeps."""
