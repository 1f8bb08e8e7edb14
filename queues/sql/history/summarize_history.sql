-- summarize_history(recent): summarize new ranges of the BRIN indexes over deltas and history, so that aggregations,
-- wake-ups and look-ups read little. recent => true only handles the ranges where rows are being added: it is called
-- after every aggregation, since each of them reads all that is not summarized. Only full ranges are summarized: every
-- insertion would widen the one being filled, and log that. Never waits for a lock (a manual VACUUM holds one). Returns
-- how many ranges.
create or replace function signalbox.summarize_history(recent boolean default false) returns bigint
language plpgsql
set lock_timeout = '20ms'
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_index record;
  v_block bigint;
  v_summarized bigint := 0;
begin
  for v_index in
    select i.indexrelid as id, pg_relation_size(t.oid) / current_setting('block_size')::bigint as pages,
      coalesce((
        select o.option_value::bigint from pg_options_to_table(c.reloptions) o where o.option_name = 'pages_per_range'
      ), 128) as range_pages
    from pg_index i
    join pg_class c on c.oid = i.indexrelid and c.relkind = 'i'
    join pg_am a on a.oid = c.relam and a.amname = 'brin'
    join pg_class t on t.oid = i.indrelid
    join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'signalbox'
    where not summarize_history.recent or t.relname in (
      'counter_delta_' || date_part('epoch', clock_timestamp())::bigint / 60 % 4,
      'cluster_delta_' || date_part('epoch', clock_timestamp())::bigint / 60 % 4,
      'settled_' || to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDD')
    )
  loop
    begin
      v_block := (v_index.pages / v_index.range_pages - 1) * v_index.range_pages;
      -- Newest first, up to one that was done before.
      while v_block >= 0 and brin_summarize_range(v_index.id, v_block) > 0 loop
        v_summarized := v_summarized + 1;
        v_block := v_block - v_index.range_pages;
      end loop;
    exception
      when lock_not_available then
        null;
    end;
  end loop;
  return v_summarized;
end $$;
