-- append_log_changes(capture_id, changes, lsn): append the changes of committed transactions that were read from the
-- log, and note that it was read up to lsn; upkeep calls it. changes is an array of {"op", "old", "new", "is_key",
-- "unchanged", "transaction_id"}: old and new are texts of rows of the table, is_key says that old has the key alone,
-- unchanged names large values that the log does not repeat. An update of the key is a delete and an insert. An update
-- that changes no captured column is left out where the row before is known.
create or replace function signalbox.append_log_changes(capture_id integer, changes jsonb, lsn pg_lsn) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_capture signalbox.capture;
  v_stream signalbox.stream;
  v_before jsonb[];
  v_after jsonb[];
  v_events jsonb[];
  v_keys text[];
begin
  update signalbox.capture c set applied_lsn = append_log_changes.lsn
  where c.capture_id = append_log_changes.capture_id
  returning * into strict v_capture;
  select * into strict v_stream from signalbox.stream s where s.stream_id = v_capture.stream_id;
  if v_capture.signature is distinct from signalbox._table_signature(v_capture.table_id) then
    perform signalbox._note_schema_change(v_capture.capture_id);
  end if;
  execute format(
    'select array_agg(to_jsonb((c ->> ''old'')::%1$s) order by n), array_agg(to_jsonb((c ->> ''new'')::%1$s) order by n)'
    ' from jsonb_array_elements($1) with ordinality t(c, n)', v_capture.table_id::regclass
  )
  into v_before, v_after
  using append_log_changes.changes;
  select array_agg(signalbox._fitting_event(e.event, v_stream.max_payload_bytes) order by e.place),
    array_agg(e.key order by e.place)
  into v_events, v_keys
  from (
    select o.place, signalbox._key_text(o.key, v_capture.key) as key,
      jsonb_build_object(
        'op', o.op, 'table', v_capture.table_id::regclass::text, 'key', o.key, 'before', o.before, 'after', o.after,
        'transaction_id', o.transaction_id, 'order', nextval('signalbox.capture_order')
      ) || case when o.unchanged = '{}' then '{}' else jsonb_build_object('omitted', o.unchanged) end as event
    from (
      select array[t.n, s.part] as place, s.op, (t.c ->> 'transaction_id')::bigint as transaction_id, u.unchanged,
        signalbox._row_key(coalesce(s.after, s.before), v_capture.key) as key,
        case
          when s.before is not null and (t.c ->> 'is_key')::boolean
            then signalbox._row_key(s.before, v_capture.key)
          else signalbox._captured_columns(s.before, v_capture.columns)
        end as before,
        signalbox._captured_columns(s.after, v_capture.columns) - u.unchanged as after
      from jsonb_array_elements(append_log_changes.changes) with ordinality t(c, n)
      cross join lateral (
        select array(select jsonb_array_elements_text(t.c -> 'unchanged')) as unchanged
      ) u
      cross join lateral (
        select v_before[t.n] is not null and v_after[t.n] is not null
          and signalbox._row_key(v_before[t.n], v_capture.key) <> signalbox._row_key(v_after[t.n], v_capture.key)
          as is_moved
      ) m
      cross join lateral (
        select 1 as part, t.c ->> 'op' as op, v_before[t.n] as before, v_after[t.n] as after
        where not m.is_moved
        union all
        select 1, 'delete', v_before[t.n], null where m.is_moved
        union all
        select 2, 'insert', null, v_after[t.n] where m.is_moved
      ) s
    ) o
    where o.op <> 'update' or o.before is null or o.before <> o.after
    order by o.place
  ) e
  where cardinality(v_capture.conditions) = 0
    or signalbox._selects(v_capture.conditions, v_capture.negated, e.event, null, e.key, 0, null);
  if v_events is not null then
    perform signalbox.append_batch(v_stream.name, v_events, keys => v_keys);
  end if;
end $$;
