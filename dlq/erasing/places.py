"""Every place of the database that is walked through, in their order."""

from __future__ import annotations

from dlq.erasing.other_walks import STAGED, STAGED_AGAIN, Causes, Streams
from dlq.erasing.walks import DEAD, KEPT, REWRITTEN, TRASH, TRASH_AGAIN, Log, Walk

SENDING: tuple[Walk, ...] = (STAGED, Streams(), TRASH, DEAD)
"""What lies there is sent as new messages: by a redrive of what was staged, to queues of subscriptions, to consumers of
a dead-letter queue. The bound of messages is fixed behind them. What comes back from the trash is dead then.
"""
WALKS: tuple[Walk, ...] = (*SENDING, REWRITTEN, Log(), KEPT, TRASH_AGAIN, Causes())
"""In this order nothing gets past: what is redriven has a kept body."""
CAUSES_AGAIN = Causes("causes_again", "samples of errors once more: of what was in work meanwhile")
LATE: tuple[Walk, ...] = (CAUSES_AGAIN, STAGED_AGAIN)
"""Once more, when messages are done and when the archive is: what failed, and what was staged from it meanwhile."""
