-- Raise the refusal of a claim, with its exact reason.
create or replace function signalbox._refuse_claim(
  p_queue text, p_queue_id integer, p_max_messages integer, p_visibility_timeout double precision
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_queue_id is null then
    perform signalbox._refuse_unknown_queue(p_queue);
  end if;
  if p_max_messages is null or p_max_messages not between 1 and 1000 then
    perform signalbox._refuse(
      'max_messages', format('is %s: it must be from 1 to 1000', coalesce(p_max_messages::text, 'null'))
    );
  end if;
  if not p_visibility_timeout between 0 and 43200 then
    perform signalbox._refuse(
      'visibility_timeout', format('is %s: it must be from 0 to 43200 seconds', p_visibility_timeout)
    );
  end if;
  perform signalbox._refuse_isolation('receive');
end $$;
