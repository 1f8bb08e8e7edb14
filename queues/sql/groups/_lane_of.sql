-- The message group by which a queue orders or limits a message; null where it does neither. In a FIFO queue all
-- messages without a group form one group.
create or replace function signalbox._lane_of(p_mode text, p_max_in_flight bigint, p_group_id text) returns text
language sql immutable
begin atomic
  select case when p_mode = 'fifo' then coalesce(p_group_id, '') when p_max_in_flight > 0 then p_group_id end;
end;
