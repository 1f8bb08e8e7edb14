"""Queries for failure groups: the order of a page, and the numbers of those on it."""
