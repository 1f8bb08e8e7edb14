-- Append events of changed rows, each the row before and after (null: there is none). Leaves out updates that change no
-- captured column, and what the filter does not select. A row that is too large for the stream comes without its
-- contents, whose names are in "omitted".
create or replace function signalbox._append_changes(
  p_capture_id integer, p_op text, p_before jsonb[], p_after jsonb[]
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_capture signalbox.capture;
  v_stream signalbox.stream;
  v_events jsonb[];
  v_keys text[];
begin
  select * into strict v_capture from signalbox.capture c where c.capture_id = p_capture_id;
  select * into strict v_stream from signalbox.stream s where s.stream_id = v_capture.stream_id;
  select array_agg(signalbox._fitting_event(e.event, v_stream.max_payload_bytes)), array_agg(e.key)
  into v_events, v_keys
  from (
    select signalbox._key_text(c.key, v_capture.key) as key,
      jsonb_build_object(
        'op', case when p_op <> 'update' then p_op when c.before is null then 'insert' when c.after is null
          then 'delete' else 'update' end,
        'table', v_capture.table_id::regclass::text, 'key', c.key, 'before', c.before, 'after', c.after,
        'transaction_id', pg_current_xact_id()::text::bigint, 'order', nextval('signalbox.capture_order')
      ) as event
    from (
      select signalbox._row_key(coalesce(r.after, r.before), v_capture.key) as key,
        signalbox._captured_columns(r.before, v_capture.columns) as before,
        signalbox._captured_columns(r.after, v_capture.columns) as after
      from unnest(p_before, p_after) r(before, after)
    ) c
    where c.before is distinct from c.after
  ) e
  where cardinality(v_capture.conditions) = 0 or signalbox._selects(
    v_capture.conditions, v_capture.negated, e.event, null, e.key, 0, null
  );
  if v_events is not null then
    perform signalbox.append_batch(v_stream.name, v_events, keys => v_keys);
  end if;
end $$;
