"""Weeks and months: hours and days made of the archive, for charts."""
