-- pop(queue_name, qty): lease messages and acknowledge them at once. When the caller's transaction ends well, they are
-- done.
create or replace function pgmq.pop(queue_name text, qty integer default 1) returns setof pgmq.message_record
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_messages pgmq.message_record[] := array(select r from pgmq.read(pop.queue_name, 30, pop.qty) r);
begin
  perform pgmq.delete(pop.queue_name, array(select m.msg_id from unnest(v_messages) m));
  return query select m.* from unnest(v_messages) m;
end $$;
