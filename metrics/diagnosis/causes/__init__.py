"""Every cause, one function each: evidence in, a suspect out. None of them looks at another's finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from metrics.diagnosis.causes.arrivals import producer_burst
from metrics.diagnosis.causes.consumers import consumer_outage
from metrics.diagnosis.causes.failures import poison_data
from metrics.diagnosis.causes.holds import paused
from metrics.diagnosis.evidence import Evidence
from metrics.diagnosis.suspects import Suspect

CAUSES: Sequence[Callable[[Evidence], Suspect]] = (paused, consumer_outage, poison_data, producer_burst)
"""In the order in which they are named where several are found."""
