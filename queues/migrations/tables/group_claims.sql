-- Messages of one FIFO group that were claimed together return to the place that they had in their group.
-- Null: to ready.
alter table signalbox.lane_slot add column if not exists place bigint;
