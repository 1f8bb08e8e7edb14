"""Readings of the database that metrics are made of."""
