-- Priorities go up to 32767, so the codes of tables with a floor are below zero. They lose their sequences, which
-- upkeep makes again: until then claims begin at the first ticket, and no floor of a table is raised as one of a
-- priority.
update signalbox.claim_floor set kind = 9 - kind, floor = null where kind between 10 and 13;
