-- The destination of staged messages: one queue, or one stream, that exists and is open.
create or replace function signalbox._target_of(p_queue text, p_stream text)
returns table (queue_id integer, stream_id integer, max_payload_bytes integer)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_stream signalbox.stream;
  v_closed boolean;
begin
  if num_nonnulls(p_queue, p_stream) <> 1 then
    perform signalbox._refuse('queue', 'or stream, one of the two, must be named');
  end if;
  if p_queue is not null then
    select q.queue_id, null, q.max_payload_bytes::integer, q.closed or q.admission_flags & {flag.refuses_sends} > 0
    into queue_id, stream_id, max_payload_bytes, v_closed
    from signalbox.queue q
    where q.name = p_queue;
    if not found then
      return query select * from signalbox._target_of(signalbox._renamed(p_queue), null);
      return;
    elsif v_closed then
      perform signalbox._refuse_closed(p_queue);
    end if;
  else
    v_stream := signalbox._stream_of(p_stream);
    queue_id := null;
    stream_id := v_stream.stream_id;
    max_payload_bytes := v_stream.max_payload_bytes;
    perform signalbox._check_append(p_stream, v_stream.closed, max_payload_bytes, 'null', null, null, null);
  end if;
  return next;
end $$;
