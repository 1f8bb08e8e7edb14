-- The deltas of the work just done are part of its cost: aggregate what upkeep has not aggregated yet.
select signalbox.aggregate_counters();
