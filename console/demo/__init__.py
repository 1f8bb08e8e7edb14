"""The demo: all of Signalbox on one machine, with traffic that succeeds, waits and fails as real traffic does.

The demo uses public verbs only. Every dead letter comes from a handler that raised an exception.
"""
