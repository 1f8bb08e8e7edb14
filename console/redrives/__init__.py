"""Redrive plans, redrives under way, and approvals."""
