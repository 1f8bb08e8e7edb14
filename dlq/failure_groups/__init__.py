"""Dead letters by their cause: numbers from the counters of upkeep, notes from people."""
