"""Generator of the reference: pages that `make docs` writes from the code."""
