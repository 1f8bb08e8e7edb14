-- restore(trash_batch_id, after_position, after_message_id, max_messages): put messages of a trash batch back, in their
-- old order from the cursor on; call it with the cursor that it returns until last_position is null. Dead letters are
-- dead again, with their history. Messages that were ready or in flight can be received, scheduled ones are scheduled
-- until they are due, and where groups are limited a message takes the last place of its group. A dead letter holds its
-- FIFO group again where no message of the group is in flight (fifo_block_on_dead_letter). Delivery counts and states
-- are kept. Messages whose queue was deleted, whose deduplication id another message or open send holds, or whose part
-- of the queue another cell takes, stay in the trash and count as skipped. A closed queue accepts restored messages,
-- since they were accepted before. Until this transaction ends, its queues cannot be deleted. Locks the trash batch,
-- rows in order, then the queues (_keep_queue). Never waits for a deduplication id. Indexes: trash_pkey, trash_message
-- (by any: see ack).
create or replace function signalbox.restore(
  trash_batch_id bigint,
  after_position bigint default -1,
  after_message_id bigint default -1,
  max_messages int default 1000
) returns table (restored bigint, skipped bigint, last_position bigint, last_message_id bigint)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_ids bigint[];
  v_kept bigint[];
  v_blank signalbox.dead_letter; -- the values for a dead letter's nulls
begin
  if current_setting('signalbox.durable_commit', true) <> '' then
    perform signalbox._commit_durably();
  end if;
  if restore.max_messages is null or restore.max_messages not between 1 and 100000 then
    perform signalbox._refuse(
      'max_messages', format('is %s: it must be from 1 to 100000', coalesce(restore.max_messages::text, 'null'))
    );
  end if;
  perform from signalbox.trash_batch r where r.trash_batch_id = restore.trash_batch_id for update;
  if not found then
    perform signalbox._check_trash_batch(restore.trash_batch_id);
  end if;
  select array_agg(p.message_id order by p.position, p.message_id), max(p.position)
  into v_ids, last_position
  from (
    select t.position, t.message_id
    from signalbox.trash t
    where t.trash_batch_id = restore.trash_batch_id
      and (t.position, t.message_id) > (restore.after_position, restore.after_message_id)
    order by t.position, t.message_id
    limit restore.max_messages
    for update
  ) p;
  if v_ids is null then
    restored := 0;
    skipped := 0;
    return next;
    return;
  end if;
  last_message_id := v_ids[cardinality(v_ids)];
  perform signalbox._keep_queue(k.queue_id)
  from (
    select t.queue_id from signalbox.trash t where t.message_id = any(v_ids)
    union
    select (t.letter ->> 'queue_id')::integer from signalbox.trash t where t.message_id = any(v_ids)
      and t.letter is not null
  ) k;
  v_kept := signalbox._hold_keys_again(v_ids) || signalbox._trash_elsewhere(v_ids);
  perform signalbox._use_priority(u.queue_id, u.priority)
  from (
    select distinct t.queue_id, t.priority from signalbox.trash t where t.message_id = any(v_ids) and t.letter is null
  ) u;

  v_blank.payload := 'null';
  -- Before they leave the trash: by that it is known that they did not die again (_count_deaths).
  insert into signalbox.dead_letter
  select l.*
  from signalbox.trash t
  cross join lateral jsonb_populate_record(
    v_blank, case when t.letter -> 'payload' = 'null' then t.letter - 'payload' else t.letter end
  ) l
  where t.message_id = any(v_ids) and t.message_id <> all(v_kept) and t.letter is not null
  order by l.dead_letter_id;
  with gone as materialized (
    delete from signalbox.trash t where t.message_id = any(v_ids) and t.message_id <> all(v_kept) returning t.*
  ), letters as materialized (
    select (g.letter ->> 'queue_id')::integer as queue_id, (g.letter ->> 'source_queue_id')::integer as source_queue_id
    from gone g
    where g.letter is not null
  ), placed as materialized (
    select g.position, g.message_id, g.queue_id, g.priority, g.receive_count, g.due_at,
      g.state = 'scheduled' and g.due_at > clock_timestamp() as rests,
      signalbox._lane_of(q.mode, q.group_max_in_flight > 0 or q.fair_groups, b.group_id) as lane
    from gone g
    join signalbox.queue q on q.queue_id = any(array[g.queue_id])
    cross join lateral signalbox._body_facts(g.queue_id, g.message_id) b
    where g.letter is null
  ), counted as (
    insert into signalbox.counter_delta (queue_id, event, amount, lane)
    select p.queue_id, p.event, count(*), case when p.event = {event.restored_waiting} then p.lane end
    from (
      select d.queue_id, d.lane, case
          when d.rests then {event.restored_scheduled}
          when d.lane is null then {event.restored_ready}
          else {event.restored_waiting}
        end as event
      from placed d
    ) p
    group by p.queue_id, p.event, case when p.event = {event.restored_waiting} then p.lane end
    union all
    select l.source_queue_id, {event.restored_dead}, count(*), null from letters l group by l.source_queue_id
    union all
    select l.queue_id, {event.restored_held}, count(*), null from letters l group by l.queue_id
  ), moment as materialized (
    select signalbox.clock_time() as at
  ), readied as (
    insert into signalbox.ready (queue_id, priority, receive_count, ready_at, message_id)
    select p.queue_id, p.priority, p.receive_count, m.at, p.message_id
    from moment m, placed p
    where not p.rests and p.lane is null
  ), resting as (
    insert into signalbox.scheduled (queue_id, priority, receive_count, due_at, message_id, lane)
    select p.queue_id, p.priority, p.receive_count, greatest(p.due_at, m.at), p.message_id, p.lane
    from moment m, placed p
    where p.rests
  ), waiting as (
    insert into signalbox.waiting (queue_id, lane, priority, receive_count, message_id)
    select p.queue_id, p.lane, p.priority, p.receive_count, p.message_id
    from placed p
    where not p.rests and p.lane is not null
    order by p.position, p.message_id
  ), hinted as (
    insert into signalbox.lane_hint (queue_id, lane)
    select distinct p.queue_id, p.lane from placed p where not p.rests and p.lane is not null
  )
  select count(*) into restored from gone;
  perform signalbox._hold_groups_again(v_ids);
  skipped := cardinality(v_ids) - restored;
  -- A batch that is being restored does not expire under the operator's hands.
  update signalbox.trash_batch r
  set restored = r.restored + restore.restored,
  expires_at = greatest(r.expires_at, clock_timestamp() + interval '1 hour')
  where r.trash_batch_id = restore.trash_batch_id;
  return next;
end $$;
