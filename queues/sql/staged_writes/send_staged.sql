-- send_staged(queue or stream, stages, messages, writer, batch): send the messages of these stages, stage by stage, in
-- the caller's transaction; all or none. Returns how many. `messages` is how many the writers have staged: when there
-- are fewer, because the database has crashed or a day has passed, it is an error and nothing is sent.
-- With a writer, the ledger remembers its last batch: this batch or an earlier one that was written before is not sent
-- again, its stages are dropped, and the result is null. Of two calls at once with one writer the second waits for the
-- first, and then sends nothing. Locks: the writer's row, those of the stages, then those of send_batch: of
-- deduplication ids and FIFO groups of all stages, in sorted order. Indexes: staged_write_pkey, write_ledger_pkey.
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
  select coalesce(sum(w.messages) filter (where w.is_of_target), 0), coalesce(bool_or(not w.is_of_target), false)
    into v_staged, v_mixed
  from (
    select cardinality(o.payloads) as messages,
      coalesce(o.queue_id = v_target.queue_id or o.stream_id = v_target.stream_id, false) as is_of_target
    from signalbox.staged_write o
    where o.stage = any(send_staged.stages)
    order by o.stage, o.place
    for update -- another sender of the same stages waits, and then finds nothing
  ) w;
  if v_mixed or v_staged is distinct from send_staged.messages then
    perform signalbox._refuse('stages', format(
      'have %s messages for this target, and %s were written: the database has crashed since, or a day has passed',
      v_staged,
      coalesce(send_staged.messages::text, 'null')
    ));
  end if;
  if v_target.queue_id is not null then
    perform signalbox._lock_staged(v_target.queue_id, send_staged.stages);
  end if;
  for v_chunk in
    select w.*
    from (
      select n.stage, min(n.number) as number
      from unnest(send_staged.stages) with ordinality n(stage, number)
      group by n.stage
    ) s
    join signalbox.staged_write w on w.stage = s.stage
    order by s.number, w.place
  loop
    if v_target.queue_id is not null then
      perform signalbox.send_batch(
        send_staged.queue, v_chunk.payloads, v_chunk.attributes, v_chunk.priorities, v_chunk.delay_seconds,
        v_chunk.keys,
        v_chunk.deduplication_ids, v_chunk.trace_ids
      );
    else
      perform signalbox.append_batch(
        send_staged.stream, v_chunk.payloads, v_chunk.attributes, v_chunk.keys, v_chunk.trace_ids
      );
    end if;
  end loop;
  perform signalbox.drop_staged(send_staged.stages);
  return v_staged;
end $$;
