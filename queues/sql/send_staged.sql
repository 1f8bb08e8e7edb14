-- send_staged(queue or stream, stages, messages, writer, batch): send what these stages hold, stage by stage, all or nothing, in the
-- caller's transaction; returns how many. `messages` is how many the writers say there are: fewer, because the database has
-- crashed or a day has passed since, is an error, and nothing is sent.
-- With a writer, the ledger remembers its last batch: this batch or an earlier one, written before, is not sent again, its stages
-- are dropped, and the answer is null. Two at once with one writer: the second waits for the first, and then sends nothing.
-- Locks: the writer's row, those of the stages, then those of send_batch: of deduplication ids and FIFO groups of all stages, in sorted order.
-- Indexes: staged_write_pkey, write_ledger_pkey.
create or replace function signalbox.send_staged(
  queue text,
  stream text,
  stages uuid[],
  messages bigint,
  writer text default null,
  batch bigint default 0
) returns bigint
language plpgsql
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_target record;
  v_staged bigint;
  v_mixed boolean;
  v_chunk record;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('send_staged');
  end if;
  select * into v_target from signalbox._target_of(send_staged.queue, send_staged.stream);
  if send_staged.writer is not null and not signalbox._enter_ledger(
    send_staged.writer,
    case when v_target.queue_id is null then 'stream ' || v_target.stream_id else 'queue ' || v_target.queue_id end,
    send_staged.batch,
    send_staged.messages
  ) then
    perform signalbox.drop_staged(send_staged.stages);
    return null;
  end if;
  select coalesce(sum(w.messages) filter (where w.is_of_target), 0), coalesce(bool_or(not w.is_of_target), false) into v_staged, v_mixed
  from (
    select cardinality(o.payloads) as messages, coalesce(o.queue_id = v_target.queue_id or o.stream_id = v_target.stream_id, false) as is_of_target
    from signalbox.staged_write o
    where o.stage = any(send_staged.stages)
    order by o.stage, o.place
    for update -- another sender of the same stages waits, and then finds nothing
  ) w;
  if v_mixed or v_staged is distinct from send_staged.messages then
    perform signalbox._refuse('stages', format(
      'have %s messages for this target, and %s were written: the database has crashed since, or a day has passed', v_staged,
      coalesce(send_staged.messages::text, 'null')
    ));
  end if;
  if v_target.queue_id is not null then
    perform signalbox._lock_staged(v_target.queue_id, send_staged.stages);
  end if;
  for v_chunk in
    select w.*
    from (select n.stage, min(n.number) as number from unnest(send_staged.stages) with ordinality n(stage, number) group by n.stage) s
    join signalbox.staged_write w on w.stage = s.stage
    order by s.number, w.place
  loop
    if v_target.queue_id is not null then
      perform signalbox.send_batch(
        send_staged.queue, v_chunk.payloads, v_chunk.attributes, v_chunk.priorities, v_chunk.delay_seconds, v_chunk.keys,
        v_chunk.deduplication_ids, v_chunk.trace_ids
      );
    else
      perform signalbox.append_batch(send_staged.stream, v_chunk.payloads, v_chunk.attributes, v_chunk.keys, v_chunk.trace_ids);
    end if;
  end loop;
  perform signalbox.drop_staged(send_staged.stages);
  return v_staged;
end $$;

-- True when this batch is new: then its row says that it is written, once the transaction commits.
create or replace function signalbox._enter_ledger(p_writer text, p_target text, p_batch bigint, p_messages bigint) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(p_writer) not between 1 and 200 then
    perform signalbox._refuse('writer', 'must have from 1 to 200 characters');
  end if;
  if p_batch is null or p_batch < 0 then
    perform signalbox._refuse('batch', format('is %s: it must be zero or more', coalesce(p_batch::text, 'null')));
  end if;
  insert into signalbox.write_ledger as l (writer, target, batch, messages)
  values (p_writer, p_target, p_batch, p_messages)
  on conflict (writer, target) do update
  set batch = excluded.batch, messages = excluded.messages, written_at = clock_timestamp()
  where l.batch < excluded.batch;
  return found;
end $$;

-- The locks that the batches will take, all of them first: two senders of staged messages never wait in a circle.
create or replace function signalbox._lock_staged(p_queue_id integer, p_stages uuid[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_locks bigint;
  v_fifo boolean := (select q.mode = 'fifo' from signalbox.queue q where q.queue_id = p_queue_id);
begin
  select count(distinct d.id) into v_locks
  from signalbox.staged_write w, unnest(w.deduplication_ids) d(id)
  where w.stage = any(p_stages) and d.id is not null;
  if v_fifo then
    v_locks := v_locks + (
      select count(distinct k.key) from signalbox.staged_write w, unnest(w.keys) k(key) where w.stage = any(p_stages)
    );
  end if;
  if v_locks > 5000 then
    perform signalbox._refuse(case when v_fifo then 'group_id' else 'deduplication_id' end, format(
      'has %s values in one write: at most 5000 are locked together; write smaller batches', v_locks
    ));
  end if;
  perform pg_advisory_xact_lock(p_queue_id, k.lock)
  from (
    select distinct hashtext(d.id) as lock
    from signalbox.staged_write w, unnest(w.deduplication_ids) d(id)
    where w.stage = any(p_stages) and d.id is not null
    order by 1
  ) k;
  if v_fifo then
    perform pg_advisory_xact_lock(k.turn)
    from (
      select distinct signalbox._fifo_turn(p_queue_id, w.keys[i]) as turn
      from signalbox.staged_write w, generate_series(1, cardinality(w.payloads)) i
      where w.stage = any(p_stages)
      order by 1
    ) k;
  end if;
end $$;

-- drop_staged(stages): what was staged is not sent after all; returns how many messages. Index: staged_write_pkey.
create or replace function signalbox.drop_staged(stages uuid[]) returns bigint
language sql
set search_path = pg_catalog, pg_temp
as $$
  with gone as (
    delete from signalbox.staged_write w where w.stage = any(drop_staged.stages) returning cardinality(w.payloads) as messages
  )
  select coalesce(sum(g.messages), 0)::bigint from gone g
$$;

-- forget_writes(): stages that nobody has sent for a day, and writers that have written nothing for 90 days; at most 1,000 rows
-- of each a call. Returns how many. Indexes: staged_write_age, write_ledger_age.
create or replace function signalbox.forget_writes() returns bigint
language sql
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
  with stages as (
    delete from signalbox.staged_write w
    where (w.stage, w.place) in (
      select o.stage, o.place
      from signalbox.staged_write o
      where o.staged_at < clock_timestamp() - interval '1 day'
      order by o.staged_at
      limit 1000
      for update skip locked
    )
    returning 1
  ), writers as (
    delete from signalbox.write_ledger l
    where (l.writer, l.target) in (
      select o.writer, o.target
      from signalbox.write_ledger o
      where o.written_at < clock_timestamp() - interval '90 days'
      order by o.written_at
      limit 1000
      for update skip locked
    )
    returning 1
  )
  select (select count(*) from stages) + (select count(*) from writers)
$$;
