"""Child processes of a worker, in which handlers run."""
