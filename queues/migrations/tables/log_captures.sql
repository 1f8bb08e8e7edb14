-- Captures that read the log instead of firing triggers: their replication slot, and the end of the last transaction
-- whose changes are in the stream. Both are null for a capture by triggers.
alter table signalbox.capture add column if not exists slot text;
alter table signalbox.capture add column if not exists applied_lsn pg_lsn;
