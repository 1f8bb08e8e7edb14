-- delete_queue(name, open_at_closing): delete an empty queue that nothing uses; returns the id that it had.
-- The queue must have been closed (configure_queue), and every transaction that was open then must have ended, since one of
-- them may have found it open and sent: open_at_closing is what open_transactions() said after the closing was committed;
-- null: nobody else may have a transaction open now. Only then are the tables looked at, by a new statement, which sees what those
-- transactions have left. Who puts messages into a queue that may be closed (a death, an undo) holds it until he commits
-- (_keep_queue): deletion is refused meanwhile. What is in the way is an error: its detail is a JSON object.
-- Heads, gauges, counters, lanes and consumers of the queue go with it. What is kept by time (the log, history, failures,
-- deduplication windows) goes when its time is over, and finds the queue's name for a year (_known_queue): a queue's id is
-- never given to another. Locks the queue's row, then rows of its own in the order of their tables. Indexes: those of each
-- table by queue_id.
create or replace function signalbox.delete_queue(name text, open_at_closing text[] default null) returns integer
language plpgsql
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_queue signalbox.queue;
  v_register regclass;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('delete_queue');
  end if;
  select * into v_queue from signalbox.queue q where q.name = delete_queue.name for update;
  if not found then
    perform signalbox._refuse_unknown_queue(delete_queue.name);
  end if;
  perform signalbox._refuse_queue_in_use(v_queue); -- what is plain is said at once
  if not signalbox._was_closed(v_queue.queue_id) then
    perform signalbox._refuse_in_use(v_queue.name, 'is not closed', '{"open": true}');
  end if;
  if not signalbox._claim_queue(v_queue.queue_id)
    or signalbox.open_transactions() && coalesce(delete_queue.open_at_closing, signalbox.open_transactions())
    or not signalbox._outlive(signalbox._prepared_messages())
  then
    perform signalbox._refuse_in_use(v_queue.name, 'may still be sent to by a transaction that is open', '{"transactions": true}');
  end if;
  perform signalbox._refuse_queue_in_use(v_queue);
  perform signalbox._drop_alias(a) from signalbox.queue_alias a where a.queue_id = v_queue.queue_id;
  delete from signalbox.queue q where q.queue_id = v_queue.queue_id;
  insert into signalbox.former_queue (queue_id, name, tenant_id) values (v_queue.queue_id, v_queue.name, v_queue.tenant_id);
  perform signalbox._audit_deletion(v_queue);
  delete from signalbox.consumer c where c.queue_id = v_queue.queue_id;
  delete from signalbox.dedup_in_flight k where k.queue_id = v_queue.queue_id;
  delete from signalbox.failure_cluster_queue c where c.queue_id = v_queue.queue_id;
  delete from signalbox.former_dead_letter_queue f where v_queue.queue_id in (f.queue_id, f.source_queue_id);
  delete from signalbox.head h where h.queue_id = v_queue.queue_id;
  delete from signalbox.history_refused h where h.queue_id = v_queue.queue_id;
  delete from signalbox.lane_floor f where f.queue_id = v_queue.queue_id;
  delete from signalbox.lane_hint h where h.queue_id = v_queue.queue_id;
  delete from signalbox.lane_limit l where l.queue_id = v_queue.queue_id;
  delete from signalbox.lane_slot s where s.queue_id = v_queue.queue_id;
  delete from signalbox.lane_stat s where s.queue_id = v_queue.queue_id;
  delete from signalbox.logged_warning w where w.queue_id = v_queue.queue_id;
  delete from signalbox.queue_stat s where s.queue_id = v_queue.queue_id;
  for v_register in
    with gauges as (
      delete from signalbox.gauge g where g.queue_id = v_queue.queue_id returning g.*
    ), refusals as (
      delete from signalbox.refusal r where r.queue_id = v_queue.queue_id returning r.counter
    )
    select r.register
    from gauges g
    cross join lateral unnest(array[
      g.next_free, g.last_xid, g.admitted, g.base, g.bytes_held, g.mean_bytes, g.oldest, g.evaluated, g.lost,
      g.mark_admitted, g.mark_xid
    ]) r(register)
    union all
    select r.counter from refusals r
  loop
    execute format('drop sequence %s', v_register);
  end loop;
  return v_queue.queue_id;
end $$;

-- The transactions of this database that are open at this moment, besides the caller's; prepared ones start with 'prepared '.
create or replace function signalbox.open_transactions() returns text[]
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(distinct case when l.pid is null then 'prepared ' else '' end || l.virtualtransaction), '{}')
  from pg_locks l
  left join pg_stat_activity a on a.pid = l.pid
  where l.mode = 'ExclusiveLock'
    and l.locktype in ('virtualxid', 'transactionid')
    and l.granted
    and l.pid is distinct from pg_backend_pid()
    and (l.pid is null or a.datname = current_database() and a.backend_type not like 'autovacuum%')
$$;

-- Is the queue closed, by a transaction that is committed? One that closes it and does not commit is seen by no sender.
create or replace function signalbox._was_closed(p_queue_id integer) returns boolean
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  -- Its row is older than this transaction's own rows, those of its savepoints included.
  select q.closed and age(q.xmin) > 0 from signalbox.queue q where q.queue_id = p_queue_id
$$;

-- The prepared transactions that have put messages into any queue, as open_transactions() names them. One of them may have been
-- open, and not yet prepared, when a queue was closed: it went by another name then.
create or replace function signalbox._prepared_messages() returns text[]
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(array_agg(distinct 'prepared ' || l.virtualtransaction), '{}')
  from pg_locks l
  where l.pid is null and l.mode = 'RowExclusiveLock' and l.granted
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.relation in (
      'signalbox.ready'::regclass, 'signalbox.scheduled'::regclass, 'signalbox.waiting'::regclass, 'signalbox.dead_letter'::regclass
    )
$$;

-- Refuses while the queue holds anything, in whatever state and whoever works on it, keeps the dead letters of another, or is
-- what a stream's subscription feeds. Index of the last: consumer_group_feeds.
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
    select jsonb_object_agg(s.state, signalbox.depth(t.totals, case when s.state = 'dead' and p_queue.is_dead_letter_queue then 'held' else s.state end))
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
      p_queue.name, format('keeps the dead letters of %s', quote_literal(v_source)), jsonb_build_object('source', v_source)
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
      p_queue.name, format('is fed by the group %s of the stream %s', quote_literal(v_feed ->> 'group'), quote_literal(v_feed ->> 'stream')), v_feed
    );
  end if;
end $$;

create or replace function signalbox._refuse_in_use(p_queue text, p_problem text, p_detail jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB424',
    message = format('queue %s %s', quote_literal(p_queue), p_problem),
    detail = p_detail,
    column = 'queue';
end $$;
