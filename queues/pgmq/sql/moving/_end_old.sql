-- Delete messages from pgmq's own table, for consumers that read them before the move; return them.
create or replace function pgmq._end_old(p_queue_name text, p_ids bigint[]) returns setof pgmq.message_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_table regclass := pgmq._old_table(p_queue_name);
begin
  if v_table is not null then
    return query execute format(
      'with gone as (delete from %s q where q.msg_id = any($1) returning to_jsonb(q) as kept)'
      || ' select r.* from gone g, pgmq._old_record(g.kept) r', v_table
    ) using p_ids;
  end if;
end $$;
