-- Store what a deferral leaves: the state of the next delivery, the number of deliveries that do not count towards
-- max_receives, and a row of history. The number of deliveries of a message stops at 32767, and this number with it.
create or replace function signalbox._note_deferral(p_lease signalbox.lease, p_due_at timestamptz, p_state jsonb)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into signalbox.message_state as s (message_id, queue_id, state, deferrals)
  values (p_lease.message_id, p_lease.queue_id, nullif(p_state, 'null'), 1)
  on conflict (message_id) do update
  set queue_id = excluded.queue_id,
    state = case when p_state is null then s.state else excluded.state end,
    deferrals = s.deferrals + case when p_lease.receive_count < 32767 then 1 else 0 end;
  insert into signalbox.deferral (queue_id, message_id, receive_count, leased_at, deferred_at, due_at, consumer)
  values (
    p_lease.queue_id, p_lease.message_id, p_lease.receive_count, p_lease.leased_at, clock_timestamp(), p_due_at,
    p_lease.consumer
  );
end $$;
