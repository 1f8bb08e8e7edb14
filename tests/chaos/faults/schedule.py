"""The schedule: which fault comes when, drawn from a seed. The same seed gives the same schedule.

Whom a fault hits is drawn as a number between 0 and 1, which the nemesis turns into one of those who are alive then.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass

#: How often each kind comes, against the others. Ends of the whole server are dear: everybody has to come back.
WEIGHTS: Mapping[str, float] = {
    "kill client": 6,
    "stop client": 5,
    "kill worker": 3,
    "kill worker's child": 2,
    "stop worker": 2,
    "kill Celery worker": 2,
    "kill Celery's child": 2,
    "stop Celery worker": 2,
    "kill beat": 1,
    "kill upkeep": 2,
    "stop upkeep": 2,
    "kill postmaster": 1,
    "kill backend": 1,
    "restart server": 1,
    "read-only database": 1,
    "terminate backends": 5,
    "cancel statements": 4,
    "exhaust connections": 2,
    "delay network": 3,
    "black hole": 3,
    "reset connections": 4,
    "swallow answers": 6,
    "swallow commits": 6,
    "lock a table": 3,
    "idle in transaction": 3,
    "deadlock": 3,
    "hold a snapshot": 2,
    "hold a write": 2,
    "prepare a send": 2,
}


@dataclass(frozen=True)
class Fault:
    number: int
    kind: str
    pause_seconds: float
    """After the fault before it has begun."""
    seconds: float
    """How long it lasts, where it lasts."""
    pick: float
    """Whom it hits, from 0 to 1."""


def schedule(seed: int, faults: int, pause_seconds: float, weights: Mapping[str, float] = WEIGHTS) -> list[Fault]:
    """`faults` faults with pauses of `pause_seconds` on average; each kind comes once before the rest is drawn."""
    dice = random.Random(seed)
    kinds = [kind for kind, weight in weights.items() if weight > 0][:faults]
    drawn = dice.choices(list(weights), list(weights.values()), k=faults - len(kinds))
    kinds += drawn
    dice.shuffle(kinds)
    return [
        Fault(number, kind, dice.uniform(0.2, 1.8) * pause_seconds, dice.uniform(0.3, 3.0), dice.random())
        for number, kind in enumerate(kinds, 1)
    ]
