-- Refuse to delete a queue that holds messages in any state, keeps the dead letters of another queue, or is an
-- end of a subscription. Index of the last: consumer_group_feeds.
create or replace function signalbox._refuse_queue_in_use(p_queue signalbox.queue) returns void
language plpgsql
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_counts jsonb;
  v_source text;
  v_feed jsonb;
begin
  if exists (select from signalbox.ready r where r.queue_id = p_queue.queue_id)
    or exists (select from signalbox.scheduled s where s.queue_id = p_queue.queue_id)
    or exists (select from signalbox.waiting w where w.queue_id = p_queue.queue_id)
    or exists (select from signalbox.lease l where l.queue_id = p_queue.queue_id)
    or exists (select from signalbox.dead_letter d where d.source_queue_id = p_queue.queue_id)
    or exists (select from signalbox.dead_letter d where d.queue_id = p_queue.queue_id)
  then
    select jsonb_object_agg(
      s.state,
      signalbox.depth(
        t.totals, case when s.state = 'dead' and p_queue.is_dead_letter_queue then 'held' else s.state end
      )
    )
    into v_counts
    from signalbox.queue_totals(array[p_queue.queue_id]) t,
      unnest(array['ready', 'waiting', 'scheduled', 'leased', 'dead']) s(state);
    perform signalbox._refuse_in_use(p_queue.name, 'has messages', v_counts);
  end if;
  select min(q.name) into v_source
  from signalbox.queue q
  where q.dead_letter_queue_id = p_queue.queue_id and q.queue_id <> p_queue.queue_id;
  if v_source is not null then
    perform signalbox._refuse_in_use(
      p_queue.name, format('keeps the dead letters of %s', quote_literal(v_source)),
      jsonb_build_object('source', v_source)
    );
  end if;
  select jsonb_build_object('group', g.name, 'stream', s.name) into v_feed
  from signalbox.consumer_group g
  join signalbox.stream s using (stream_id)
  where g.queue_id = p_queue.queue_id
  order by g.group_id
  limit 1;
  if v_feed is not null then
    perform signalbox._refuse_in_use(
      p_queue.name, format(
        'is fed by the group %s of the stream %s', quote_literal(v_feed ->> 'group'), quote_literal(v_feed ->> 'stream')
      ), v_feed
    );
  end if;
  select jsonb_build_object('source', source.name, 'target', target.name) into v_feed
  from signalbox.queue_subscription s
  join signalbox.queue source on source.queue_id = s.source_queue_id
  join signalbox.queue target on target.queue_id = s.target_queue_id
  where p_queue.queue_id in (s.source_queue_id, s.target_queue_id)
  order by s.subscription_id
  limit 1;
  if v_feed is not null then
    perform signalbox._refuse_in_use(
      p_queue.name,
      format('is in the subscription of %s to %s', quote_literal(v_feed ->> 'target'), quote_literal(v_feed ->> 'source')),
      v_feed
    );
  end if;
end $$;
