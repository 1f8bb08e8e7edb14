-- receive_groups(queue, max_messages, ...): receive for consumers that work on the messages of a FIFO group in order:
-- after the first message of a group come those behind it, in order, up to max_messages; then the next group. No other
-- consumer receives messages of these groups until all of these have ended or returned. Those that return go back to
-- their places. Other arguments and columns are those of receive. The SQS endpoint uses it for FIFO queues.
create or replace function signalbox.receive_groups(
  queue text,
  max_messages int default 1,
  visibility_timeout double precision default null,
  consumer text default null
) returns table (
  message_id bigint,
  receipt_handle text,
  receive_count int,
  payload jsonb,
  attributes jsonb,
  group_id text,
  priority int,
  sent_at timestamptz,
  deadline timestamptz,
  state jsonb,
  body jsonb
)
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_left integer := receive_groups.max_messages;
  v_head record;
  v_behind integer;
begin
  if (v_left between 1 and 1000) is not true then
    perform signalbox.receive(receive_groups.queue, v_left); -- refuses
  end if;
  while v_left > 0 loop
    select * into v_head
    from signalbox.receive(
      receive_groups.queue, 1, receive_groups.visibility_timeout, receive_groups.consumer
    ) r;
    exit when not found;
    return query
    select v_head.message_id, v_head.receipt_handle, v_head.receive_count, v_head.payload, v_head.attributes,
      v_head.group_id, v_head.priority, v_head.sent_at, v_head.deadline, v_head.state, v_head.body;
    return query
    select * from signalbox._receive_behind(v_head.message_id, v_left - 1);
    get diagnostics v_behind = row_count;
    v_left := v_left - 1 - v_behind;
  end loop;
end $$;
