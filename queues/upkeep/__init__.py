"""Upkeep: the housekeeping of the engine."""
