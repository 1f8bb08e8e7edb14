"""Masking rules, and masked values in what pages show."""
