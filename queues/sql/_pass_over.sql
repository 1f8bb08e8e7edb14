-- A step of upkeep could not work on one queue (null: on one removal or limit): the database's log says which step, which
-- queue and why, and the step goes on. Whatever else it has to wait for, it then hardly waits for, so that many queues
-- under lock do not add up. Called in the handler of the exception; the step's own `set lock_timeout` ends with the step.
-- A cancelled statement is no such error: plpgsql's `others` leaves it out, and the step ends.
create or replace function signalbox._pass_over(p_step text, p_queue_id integer, p_sqlstate text, p_message text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise warning 'signalbox: upkeep step % passed over queue %: % (SQLSTATE %)',
    p_step, coalesce(p_queue_id::text, '-'), p_message, p_sqlstate;
  if p_sqlstate = '55P03' then -- lock_not_available
    perform set_config('lock_timeout', '10ms', true);
  end if;
end $$;
