"""Maintenance: the whole installation held still by one person, for a reason, until it is ended (ADR 39)."""

from queues.maintenance.keeping import Preview, begin, current, end, preview

__all__ = ["Preview", "begin", "current", "end", "preview"]
