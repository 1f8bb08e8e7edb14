-- Keep an old name of a queue. A sequence holds when it was last used, in seconds since 1970: all sessions see it at
-- once, and no row is written for a message. A role that may send may also set it.
create or replace function signalbox._keep_alias(p_name text, p_queue_id integer, p_grace_seconds double precision)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_register text := format('alias_used_%s_%s', p_queue_id, (extract(epoch from clock_timestamp()) * 1000000)::bigint);
begin
  execute format('create sequence signalbox.%I minvalue 0 start 0', v_register);
  execute format('grant select, update on sequence signalbox.%I to public', v_register);
  insert into signalbox.queue_alias (name, queue_id, works_until, last_used)
  values (
    p_name, p_queue_id, clock_timestamp() + p_grace_seconds * interval '1 second',
    format('signalbox.%I', v_register)::regclass
  );
end $$;
