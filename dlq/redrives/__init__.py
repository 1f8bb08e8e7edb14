"""Redrives: plans, impact, options, canary, rate and outcomes."""
