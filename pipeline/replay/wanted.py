"""What is asked of a replay, for who asks as well: nothing that reads the archive is loaded with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dlq.plan_options import Options


@dataclass(frozen=True)
class Wanted:
    """What somebody wants to have sent again, and how."""

    filter_text: str
    options: Options
    kinds: Sequence[str] = ("settled",)
    since: datetime | None = None
    until: datetime | None = None
    """Of what ended from `since` on and before `until`."""
    reason: str = ""
