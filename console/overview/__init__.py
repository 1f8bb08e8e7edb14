"""The first page, and the snapshot of every queue's numbers behind it."""
