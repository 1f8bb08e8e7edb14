"""The thresholds of the diagnosis: from which value on a number counts as evidence, each with its reason."""

BACKLOG_SECONDS = 10.0
"""Messages that have waited for less are no backlog: consumers without wake-ups poll every few seconds."""

HISTORY_SECONDS = 300.0
"""A queue's own history must be at least so long before "up" and "down" mean anything."""

UP_FACTOR = 2.0
"""What is "up against its own history" has at least doubled. Ordinary traffic swings by a half within an hour."""

STEADY_SHARE = 0.7
"""What still does so much of what it did before is steady."""

FELL_SHARE = 0.5
"""What does at most so much of what it did before has fallen."""

BURST_MESSAGES = 20
"""Fewer messages than these above the usual are no burst, whatever the factor: a quiet queue doubles with two."""

EXPLAINS_SHARE = 0.5
"""The share of a backlog from which on a cause explains it."""

FAILING_SHARE = 0.2
"""From one delivery in five on, failures cost so much of the consumers' time that a backlog may come of them."""

FAILURES = 10
"""Fewer failures than these within ten minutes are no pattern."""

DOMINANT_SHARE = 0.6
"""The share of the latest failures from which on one cause dominates; two equal ones never do."""

WORK_SAMPLES = 5
"""The median of fewer pieces of work says nothing."""

WORK_MILLISECONDS = 20
"""Work that takes less is not slow, whatever it took before: a network hiccup is as long."""

HELD_UP_SECONDS = 55.0
"""Consumers that have finished nothing for less than about a minute may just be at work."""

HOT_MESSAGES = 10
"""The number of waiting messages below which a group is no jam."""

STARVED_SECONDS = 60.0
"""What has waited for less does not starve: aging lifts a message by one priority in a minute."""

STARVED_FACTOR = 10.0
"""A lower priority starves behind a higher one when it waits ten times as long."""

DEAD_ROWS = 100_000
"""Fewer dead rows cost a claim nothing that could be measured: autovacuum is asked for at 5,000."""

UNVACUUMED_SECONDS = 600.0
"""Autovacuum looks every minute; a table it has not finished for ten is one it cannot keep up with."""

DYING_SHARE = 0.5
"""Failures are of messages that die when deaths, each counted with all its deliveries, make up at least this."""
