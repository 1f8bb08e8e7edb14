"""Thresholds of the diagnosis: the values from which numbers count as evidence, each with its reason."""

BACKLOG_SECONDS = 10.0
"""Shortest wait that is a backlog: consumers without wake-ups poll every few seconds."""

HISTORY_SECONDS = 300.0
"""Shortest history of a queue with which its present rates are compared."""

UP_FACTOR = 2.0
"""A value has risen when it is this many times the earlier one. Ordinary traffic varies by half within an hour."""

STEADY_SHARE = 0.7
"""Consumers are steady when they do at least this share of their earlier work."""

FELL_SHARE = 0.5
"""A number has fallen when it is at most this share of the earlier one."""

BURST_MESSAGES = 20
"""Smallest number of messages above the usual that is a burst: the rate of a quiet queue doubles with two messages."""

EXPLAINS_SHARE = 0.5
"""Smallest share of a backlog with which a cause explains it."""

FAILING_SHARE = 0.2
"""Smallest share of failed deliveries that may cause a backlog: they cost consumers that share of their time."""

DEFERRING_SHARE = 0.2
"""Smallest share of deferred deliveries that may cause a backlog: they cost consumers that share of their time."""

DEFERRALS = 10
"""Smallest number of deferrals within ten minutes that is a pattern."""

FAILURES = 10
"""Smallest number of failures within ten minutes that is a pattern."""

DOMINANT_SHARE = 0.6
"""Smallest share of the latest failures with which one cause dominates; two equal causes never do."""

WORK_SAMPLES = 5
"""Smallest number of work times whose median is compared."""

WORK_MILLISECONDS = 20
"""Shortest median work time that may be slow: a delay in the network is as long."""

HELD_UP_SECONDS = 55.0
"""Consumers that have finished nothing for less than about a minute may just be at work."""

HOT_MESSAGES = 10
"""Smallest number of waiting messages with which a message group is hot."""

STARVED_SECONDS = 60.0
"""Shortest wait that may be starvation: aging raises a message by one priority in a minute."""

STARVED_FACTOR = 10.0
"""A lower priority starves behind a higher one when it waits this many times as long."""

DEAD_ROWS = 100_000
"""Smallest number of dead rows that slows a claim measurably. Autovacuum is asked to run at 5,000."""

UNVACUUMED_SECONDS = 600.0
"""Longest time without a finished vacuum before autovacuum is behind: it checks every minute."""

DYING_SHARE = 0.5
"""Smallest share of failures that must belong to dead letters, all deliveries of each counted, for poison messages."""
