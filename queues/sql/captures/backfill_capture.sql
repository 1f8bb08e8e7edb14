-- backfill_capture(capture_id, max_rows): append rows that the table of a capture had before, at most max_rows, in the
-- order of the key, and note how far it came; upkeep calls it. Returns how many. Each row is locked (for share) while
-- its event is appended: a change that committed before has an earlier position, and one that comes later waits, so
-- the order of each key is kept. Rows that a writer holds are skipped, and come one at a time after the others, when
-- they are free: a transaction that waits for one row holds no other, so that no writer waits in a circle.
create or replace function signalbox.backfill_capture(capture_id integer, max_rows integer default 1000) returns bigint
language plpgsql
set lock_timeout = '200ms'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_capture signalbox.capture;
  v_keys jsonb[];
  v_rows jsonb[];
  v_found jsonb[];
begin
  select * into v_capture from signalbox.capture c
  where c.capture_id = backfill_capture.capture_id and c.backfilled_at is null
  for update skip locked;
  if not found or to_regclass(v_capture.table_id::regclass::text) is null then
    return 0;
  end if;
  v_keys := signalbox._next_keys(v_capture.table_id, v_capture.key, v_capture.backfill_after,
    least(greatest(backfill_capture.max_rows, 1), 10000));
  if v_keys = '{}' and v_capture.backfill_skipped <> '[]' then
    v_rows := signalbox._lock_rows(v_capture.table_id, v_capture.key, array[v_capture.backfill_skipped -> 0], false);
    update signalbox.capture c
    set backfill_skipped = c.backfill_skipped - 0, backfilled = c.backfilled + cardinality(v_rows)
    where c.capture_id = backfill_capture.capture_id;
  elsif v_keys = '{}' then
    update signalbox.capture c set backfilled_at = clock_timestamp()
    where c.capture_id = backfill_capture.capture_id;
    return 0;
  else
    v_rows := signalbox._lock_rows(v_capture.table_id, v_capture.key, v_keys, true);
    v_found := array(select signalbox._row_key(r, v_capture.key) from unnest(v_rows) r);
    update signalbox.capture c
    set backfill_after = v_keys[cardinality(v_keys)], backfilled = c.backfilled + cardinality(v_rows),
      backfill_skipped = c.backfill_skipped || coalesce(
        (select jsonb_agg(k) from unnest(v_keys) k where k <> all(v_found)), '[]'
      )
    where c.capture_id = backfill_capture.capture_id;
  end if;
  if cardinality(v_rows) > 0 then
    perform signalbox._append_changes(
      v_capture.capture_id, 'backfill', array_fill(null::jsonb, array[cardinality(v_rows)]), v_rows
    );
  end if;
  return greatest(cardinality(v_rows), 1);
exception
  when lock_not_available then
    return 0; -- a writer holds the row: tried again in the next round
end $$;
