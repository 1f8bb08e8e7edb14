-- summarize_history(recent): bring the BRIN indexes over deltas and history up to date, so that folds, wake-ups and
-- look-ups read little. With recent, only where rows are being added now: called after every fold, since what is not
-- summarized yet is read by every one of them. Never waits for a lock (a manual VACUUM holds one). Returns ranges.
create or replace function signalbox.summarize_history(recent boolean default false) returns bigint
language plpgsql
set lock_timeout = '20ms'
as $$
#variable_conflict use_column
declare
  v_index regclass;
  v_summarized bigint := 0;
begin
  for v_index in
    select i.indexrelid::regclass
    from pg_index i
    join pg_class c on c.oid = i.indexrelid and c.relkind = 'i'
    join pg_am a on a.oid = c.relam and a.amname = 'brin'
    join pg_class t on t.oid = i.indrelid
    join pg_namespace n on n.oid = t.relnamespace and n.nspname = 'signalbox'
    where pg_relation_size(t.oid) > 0
      and (not summarize_history.recent or t.relname in (
        'counter_delta_' || date_part('epoch', clock_timestamp())::bigint / 60 % 4,
        'settled_' || to_char(clock_timestamp() at time zone 'UTC', 'YYYYMMDD')
      ))
  loop
    begin
      v_summarized := v_summarized + brin_summarize_new_values(v_index);
    exception
      when lock_not_available then
        null;
    end;
  end loop;
  return v_summarized;
end $$;
