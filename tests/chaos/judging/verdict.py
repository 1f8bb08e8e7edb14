"""Verdict on a run: number of messages, their outcomes, and violations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

#: Violations; each is counted, and the first few are listed.
CHARGES = (
    "lost",
    "unexpected",
    "unexplained duplicate",
    "delivered after its ack",
    "stale receipt accepted",
    "held lease refused",
    "settled without a client",
    "ack undone",
    "another body",
    "published twice",
    "effect missing",
    "effect twice",
    "FIFO violation",
    "miscounted delivery",
    "in two places",
    "stranded",
    "counter drift",
)
TOLD = 10


@dataclass
class Verdict:
    figures: Counter[str] = field(default_factory=Counter)
    """attempted, acknowledged, failed, recovered, deliveries, redelivered, stale receipts refused, ..."""
    duplicates: Counter[str] = field(default_factory=Counter)
    """Further deliveries of a message, and further messages of a token, by cause."""
    charges: Counter[str] = field(default_factory=Counter)
    told: dict[str, list[str]] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        return not self.charges

    def accuse(self, charge: str, what: str) -> None:
        assert charge in CHARGES, charge
        self.charges[charge] += 1
        told = self.told.setdefault(charge, [])
        if len(told) < TOLD:
            told.append(what)

    def __str__(self) -> str:
        lines = [f"{charge}: {self.charges[charge]}" for charge in CHARGES if self.charges[charge]]
        for charge, told in self.told.items():
            lines += [f"  {charge}: {what}" for what in told]
        return "\n".join(lines) or "valid"
