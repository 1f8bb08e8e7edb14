"""The demo: a whole system on one machine, with traffic that succeeds, waits and fails as real traffic does.

It uses public verbs only, and every dead letter comes from a handler that really raised.
"""
