-- The message group in which a message waits: where the queue is FIFO, or limits or shares its groups; null elsewhere.
-- In a FIFO queue all messages without a group form one group.
create or replace function signalbox._lane_of(p_mode text, p_has_lanes boolean, p_group_id text) returns text
language sql immutable
begin atomic
  select case when p_mode = 'fifo' then coalesce(p_group_id, '') when p_has_lanes then p_group_id end;
end;
