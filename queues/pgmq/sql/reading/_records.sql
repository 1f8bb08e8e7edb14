-- Return messages of a queue by their ids: their contents from the log, and what their leases say.
-- Indexes: message_pkey, message_kept_pkey, lease_pkey, scheduled_message.
create or replace function pgmq._records(p_queue_id integer, p_ids bigint[]) returns setof pgmq.message_record
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select m.message_id, coalesce(l.receive_count, s.receive_count, 0)::integer, m.sent_at, l.leased_at,
    coalesce(l.deadline, s.due_at, m.sent_at), m.payload, m.attributes
  from unnest(p_ids) i(id)
  cross join lateral (
    select e.message_id, e.sent_at, e.payload, e.attributes
    from signalbox.message e
    where e.queue_id = p_queue_id and e.message_id = i.id
    union all
    select k.message_id, k.sent_at, k.payload, k.attributes
    from signalbox.message_kept k
    where k.queue_id = p_queue_id and k.message_id = i.id
    limit 1
  ) m
  left join signalbox.lease l on l.message_id = m.message_id
  left join signalbox.scheduled s on s.message_id = m.message_id
$$;
