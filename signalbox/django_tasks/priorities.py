"""Django's priorities, -100 to 100, among the ten of the engine: 0 is 4, above it are five bands, below it four.

Who is above 0 stays above it, and who is below stays below; within a band tasks run in the order in which they came.
"""

from __future__ import annotations


def engine_priority(priority: int) -> int:
    """0 to 9, for a priority of -100 to 100."""
    if priority > 0:
        return 4 + (priority + 19) // 20
    return 4 - (-priority + 24) // 25
