-- Return whether a lease's nonce says that its message may hold a deduplication id. Inlined by the planner.
create or replace function signalbox._is_marked(p_nonce uuid) returns boolean
language sql immutable
begin atomic
  select get_byte(uuid_send(p_nonce), 6) / 16 = 8;
end;
