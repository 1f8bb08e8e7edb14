"""Queries for dead letters, which the rooms above the engine ask instead of writing SQL over its tables."""
