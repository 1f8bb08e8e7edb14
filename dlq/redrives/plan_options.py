"""Options of a plan: destination, rate, canary, limits, and changes to payloads. Checked once, here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from queues.errors import InvalidArgument

MAX_RATE_PER_SECOND = 5_000
MAX_REDRIVES = 3
"""A message that failed after this many redrives is skipped."""
CANARY_MESSAGES = 10
"""The canary of a redrive that no person set otherwise, with at least one message of each failure group."""


@dataclass(frozen=True)
class Options:
    """Options of a plan, which a run may override. None and 0 mean: no such limit."""

    target_queue: str | None = None
    """The destination of all messages. None: each message goes to its source queue."""
    rate_per_second: int | None = None
    max_redrives: int | None = MAX_REDRIVES
    """Messages redriven more often than this are skipped."""
    canary_messages: int = 0
    """Messages that are sent first; the others wait for their outcomes."""
    canary_per_group: bool = False
    """The canary includes one message of each failure group."""
    stop_failed_percent: int = 20
    """The redrive pauses when a larger share of a step, or of what it sent without a canary, fails again."""
    stop_failed_in_row: int = 5
    """The redrive pauses after this number of failures in a row. 0: no such limit."""
    slow_depth: int | None = None
    """Messages in a destination above which the rate is halved."""
    slow_age_seconds: int | None = None
    slow_failed_percent: int | None = None
    patch_kind: str = ""
    """`merge` (RFC 7396), `json` (RFC 6902) or nothing."""
    patch: Any = None

    @classmethod
    def with_canary(cls, **given: Any) -> Options:
        """Return options with the default canary, unless `given` sets the number of its messages."""
        if given.get("canary_messages") is None:
            given = {"canary_per_group": True} | given | {"canary_messages": CANARY_MESSAGES}
        return cls(**given)

    @property
    def has_canary(self) -> bool:
        return self.canary_messages > 0 or self.canary_per_group

    def canary_size(self, groups: int) -> int:
        """Return the size of the canary, with one message of each of these groups; 0 without a canary."""
        return max(1, self.canary_messages, groups) if self.has_canary else 0

    @property
    def has_stop_rules(self) -> bool:
        return self.stop_failed_percent < 100 or self.stop_failed_in_row > 0

    @property
    def slows(self) -> bool:
        return any((self.slow_depth, self.slow_age_seconds, self.slow_failed_percent))

    @property
    def patch_text(self) -> str:
        """Return the patch as JSON text."""
        return json.dumps(self.patch, ensure_ascii=False)

    def as_json(self) -> dict[str, Any]:
        """Return the document for the row."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Options:
        """Read the document of a row; options of later versions have their defaults."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in document.items() if name in known})

    def checked(self) -> Options:
        """Return the same, or `InvalidArgument` that names the option."""
        for name, (least, most) in _BOUNDS.items():
            _check_range(name, getattr(self, name), least, most)
        return self


_BOUNDS: dict[str, tuple[int, int]] = {
    "rate_per_second": (1, MAX_RATE_PER_SECOND),
    "max_redrives": (0, 1_000),
    "canary_messages": (0, 10_000),
    "stop_failed_percent": (0, 100),
    "stop_failed_in_row": (0, 10_000),
    "slow_depth": (1, 1_000_000_000),
    "slow_age_seconds": (1, 31_536_000),
    "slow_failed_percent": (1, 100),
}


def _check_range(name: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise InvalidArgument(f"{name} is {value}: it must be from {least} to {most}", name)
