-- Set the time of messages in pgmq's own table, for consumers that read them before the move; return them.
create or replace function pgmq._set_old_vt(p_queue_name text, p_ids bigint[], p_vt timestamptz)
returns setof pgmq.message_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table regclass := pgmq._old_table(p_queue_name);
begin
  if v_table is not null then
    return query execute format(
      'with kept as (update %s q set vt = $2 where q.msg_id = any($1) returning to_jsonb(q) as kept)'
      || ' select r.* from kept k, pgmq._old_record(k.kept) r', v_table
    ) using p_ids, p_vt;
  end if;
end $$;
