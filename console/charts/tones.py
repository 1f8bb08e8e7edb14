"""Colours of charts by meaning: one name for each state, event and percentile, used by every chart.

The stylesheet has a colour for each, in light and in dark: `.tone-ready` and `--ready`.
"""

from __future__ import annotations

STATES = ("ready", "leased", "scheduled", "waiting", "dead")
EVENTS = ("sent", "completed", "delivered", "redelivered", "failed", "expired", "removed")
PERCENTILES = ("p50", "p95", "p99")
TONES = frozenset((*STATES, *EVENTS, *PERCENTILES))
