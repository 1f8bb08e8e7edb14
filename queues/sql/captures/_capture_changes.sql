-- Append the changes of one statement. A trigger, which runs after the statement while the rows that it wrote are
-- locked: a later writer of a row draws a later position. Rows of before and after are joined by the key; an update
-- that changes the key is a delete and an insert. With the owner's rights, since a writer of the table need not be one
-- of the stream. Not for PUBLIC, as _set_admission_flags.
create or replace function signalbox._capture_changes() returns trigger
language plpgsql
security definer
set search_path = pg_catalog, signalbox, pg_temp
as $$
declare
  v_capture signalbox.capture;
begin
  select * into v_capture from signalbox.capture c where c.capture_id = tg_argv[0]::integer and c.table_id = tg_relid;
  if not found then
    return null;
  end if;
  if v_capture.signature is distinct from signalbox._table_signature(tg_relid) then
    perform signalbox._note_schema_change(v_capture.capture_id);
  end if;
  if tg_op = 'INSERT' then
    perform signalbox._append_changes(v_capture.capture_id, 'insert', array_agg(null::jsonb), array_agg(b.after))
    from (select to_jsonb(n) as after, (row_number() over () - 1) / 1000 as batch from new_rows n) b
    group by b.batch
    order by b.batch;
  elsif tg_op = 'DELETE' then
    perform signalbox._append_changes(v_capture.capture_id, 'delete', array_agg(b.before), array_agg(null::jsonb))
    from (select to_jsonb(o) as before, (row_number() over () - 1) / 1000 as batch from old_rows o) b
    group by b.batch
    order by b.batch;
  elsif tg_op = 'UPDATE' then
    perform signalbox._append_changes(v_capture.capture_id, 'update', array_agg(b.before), array_agg(b.after))
    from (
      select o.contents as before, n.contents as after, (row_number() over () - 1) / 1000 as batch
      from (
        select to_jsonb(o) as contents, signalbox._row_key(to_jsonb(o), v_capture.key) as key from old_rows o
      ) o
      full join (
        select to_jsonb(n) as contents, signalbox._row_key(to_jsonb(n), v_capture.key) as key from new_rows n
      ) n on n.key = o.key
    ) b
    group by b.batch
    order by b.batch;
  else
    perform signalbox._append_to_all_partitions(v_capture.capture_id, 'truncate', null);
  end if;
  return null;
end $$;
revoke execute on function signalbox._capture_changes() from public;
