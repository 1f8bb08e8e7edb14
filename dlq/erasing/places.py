"""Every place of the database that is walked through, in their order."""

from __future__ import annotations

from dlq.erasing.other_walks import STAGED, Causes, Streams
from dlq.erasing.walks import DEAD, KEPT, REWRITTEN, TRASH, TRASH_AGAIN, Log, Walk

WALKS: tuple[Walk, ...] = (STAGED, TRASH, DEAD, REWRITTEN, Log(), KEPT, TRASH_AGAIN, Streams(), Causes())
"""In this order nothing gets past: what was staged is sent as a message below the bound, which is fixed behind it; what
comes back from the trash is dead then; what is redriven has a kept body.
"""
