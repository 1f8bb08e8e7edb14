-- reschedule(queue, message_id, due): make a scheduled message due at another time, at most a year from now. A time
-- that has passed makes it due now: the next receive, or upkeep within a second, makes it ready. Returns the time at
-- which it is due, or null when the message is not scheduled in this queue, or another transaction is moving it.
-- The message stays scheduled, so no counter changes. Its new time is never below the claim floor of what is
-- scheduled, as with send: it is computed while this statement holds a writer's lock on the table. SKIP LOCKED: a
-- promotion that holds the message goes first; a later promotion skips the message until this transaction ends. While
-- signalbox.clock is ahead of the wall clock, it is due when the wall clock gets there (reset_clock).
-- Index: scheduled_message.
create or replace function signalbox.reschedule(queue text, message_id bigint, due timestamptz) returns timestamptz
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
  v_due timestamptz;
begin
  select q.queue_id into v_queue_id from signalbox.queue q where q.name = reschedule.queue;
  if not found then
    return signalbox.reschedule(signalbox._renamed(reschedule.queue), reschedule.message_id, reschedule.due);
  end if;
  if reschedule.due is null or reschedule.due > clock_timestamp() + interval '1 year' then
    perform signalbox._refuse(
      'due', format('is %s: it must be a time within a year from now', coalesce(reschedule.due::text, 'null'))
    );
  end if;
  update signalbox.scheduled s
  set due_at = greatest(reschedule.due, signalbox.clock_time())
  where s.ctid = any(array(
    select c.ctid from signalbox.scheduled c
    where c.message_id = reschedule.message_id and c.queue_id + 0 = v_queue_id
    for update skip locked
  ))
  returning s.due_at into v_due;
  return v_due;
end $$;
