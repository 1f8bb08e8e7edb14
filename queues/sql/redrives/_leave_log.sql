-- Remove messages from the log whose body differs, or will differ, from the log's body, so that their new body is
-- delivered.
create or replace function signalbox._leave_log(p_dead_letter_ids bigint[], p_target_queue_id integer, p_payloads jsonb)
returns void
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set search_path = pg_catalog, pg_temp
as $$
declare
  v_letter record;
begin
  for v_letter in
    select coalesce(p_target_queue_id, d.source_queue_id) as queue_id, array_agg(d.message_id) as ids
    from signalbox.dead_letter d
    where d.dead_letter_id = any(p_dead_letter_ids)
      and (p_payloads ? d.dead_letter_id::text or d.redrive_count > 0 and exists (
        select from signalbox.rewritten w where w.message_id = any(array[d.message_id])
      ))
    group by 1
  loop
    delete from signalbox.message m where m.queue_id = v_letter.queue_id and m.message_id = any(v_letter.ids);
  end loop;
end $$;
