-- Purge as purge does, without a row in the audit: jobs have one of their own.
create or replace function signalbox._purge(
  queue text,
  through_message_id bigint,
  states text[],
  max_messages int,
  through_dead_letter_id bigint,
  trash_batch_id bigint
) returns bigint
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue_id integer;
  v_bound bigint := coalesce(_purge.through_message_id, pg_sequence_last_value('signalbox.message_id'::regclass), 0);
  v_dead_bound bigint := coalesce(
    _purge.through_dead_letter_id, pg_sequence_last_value('signalbox.dead_letter_id'::regclass), 0
  );
  v_purged bigint := 0;
begin
  select q.queue_id into v_queue_id from signalbox.queue q where q.name = _purge.queue;
  if not found then
    perform signalbox._refuse_unknown_queue(_purge.queue);
  end if;
  if _purge.max_messages is null or _purge.max_messages not between 1 and 100000 then
    perform signalbox._refuse(
      'max_messages', format('is %s: it must be from 1 to 100000', coalesce(_purge.max_messages::text, 'null'))
    );
  end if;
  if _purge.states is null or not _purge.states <@ array['ready', 'scheduled', 'waiting', 'leased', 'dead'] then
    perform signalbox._refuse('states', 'may have ready, scheduled, waiting, leased and dead only');
  end if;

  if _purge.trash_batch_id is not null then
    perform signalbox._check_trash_batch(_purge.trash_batch_id);
  end if;
  if 'ready' = any(_purge.states) then
    v_purged := v_purged + coalesce(cardinality(signalbox._remove(
      v_queue_id, 'ready', {event.purged_ready}, {outcome.purged},
      array(
        select c.ctid from signalbox.ready c
        where c.queue_id = v_queue_id and c.message_id <= v_bound
        limit _purge.max_messages - v_purged
        for update skip locked
      ),
      _purge.trash_batch_id
    )), 0);
  end if;
  if 'scheduled' = any(_purge.states) then
    v_purged := v_purged + coalesce(cardinality(signalbox._remove(
      v_queue_id, 'scheduled', {event.purged_scheduled}, {outcome.purged},
      array(
        select c.ctid from signalbox.scheduled c
        where c.queue_id = v_queue_id and c.message_id <= v_bound
        limit _purge.max_messages - v_purged
        for update skip locked
      ),
      _purge.trash_batch_id
    )), 0);
  end if;
  if 'waiting' = any(_purge.states) then
    v_purged := v_purged + coalesce(cardinality(signalbox._remove(
      v_queue_id, 'waiting', {event.purged_waiting}, {outcome.purged},
      array(
        select c.ctid from signalbox.waiting c
        where c.queue_id = v_queue_id and c.message_id <= v_bound
        limit _purge.max_messages - v_purged
        for update skip locked
      ),
      _purge.trash_batch_id
    )), 0);
  end if;
  if 'leased' = any(_purge.states) then
    v_purged := v_purged + coalesce(cardinality(signalbox._remove(
      v_queue_id, 'leased', {event.purged_leased}, {outcome.purged},
      array(
        select c.ctid from signalbox.lease c
        where c.queue_id = v_queue_id and c.message_id <= v_bound
        limit _purge.max_messages - v_purged
        for update skip locked
      ),
      _purge.trash_batch_id
    )), 0);
  end if;
  if _purge.trash_batch_id is not null and v_purged > 0 then
    perform signalbox._count_trashed(_purge.trash_batch_id, v_purged);
  end if;
  if 'dead' = any(_purge.states) then
    v_purged := v_purged + signalbox._delete_dead_letters(array(
      select d.dead_letter_id from signalbox.dead_letter d
      where d.queue_id = v_queue_id and d.dead_letter_id <= v_dead_bound
      order by d.dead_letter_id
      limit _purge.max_messages - v_purged
    ), {outcome.purged}, {event.purged_dead}, {event.purged_held}, _purge.trash_batch_id);
  end if;
  return v_purged;
end $$;
