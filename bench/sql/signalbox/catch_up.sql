-- The deltas of the work just done are part of its cost: fold what upkeep has not folded yet.
select signalbox.fold();
