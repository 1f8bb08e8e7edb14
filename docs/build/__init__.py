"""Generator of the reference: pages that follow from the code, written by `make docs`."""
