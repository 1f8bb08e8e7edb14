"""Locations of payloads in the engine, and the finds of erasures."""
