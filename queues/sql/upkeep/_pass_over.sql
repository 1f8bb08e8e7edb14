-- Log that a step of upkeep could not work on one queue (null: on one trash batch or limit), and let the step go on: a
-- warning says which step, which queue and why. From then on the step hardly waits for locks, so that many locked
-- queues do not add up. Called in the handler of the exception; the step's own `set lock_timeout` ends with the step. A
-- cancelled statement is not caught by plpgsql's `others`, so the step ends.
create or replace function signalbox._pass_over(p_step text, p_queue_id integer, p_sqlstate text, p_message text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise warning 'signalbox: upkeep step % skipped queue %: % (SQLSTATE %)',
    p_step, coalesce(p_queue_id::text, '-'), p_message, p_sqlstate;
  if p_sqlstate = '55P03' then -- lock_not_available
    perform set_config('lock_timeout', '10ms', true);
  end if;
end $$;
