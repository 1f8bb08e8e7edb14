-- Refuse limits of a message that make no sense: a time that has passed, is too far away, or comes before the end of
-- the message's delay; a number of deliveries out of range. p_place is the place in a batch, such as [3].
create or replace function signalbox._check_limits(
  p_queue text, p_expires_at timestamptz, p_max_receives integer, p_delay_seconds double precision, p_place text
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_field text := case p_place when '' then 'expires_at' else 'expires_ats' || p_place end;
  v_delay double precision := coalesce(
    p_delay_seconds, (select q.delay_seconds from signalbox.queue q where q.name = p_queue), 0
  );
begin
  if not p_max_receives between 1 and 1000 then
    perform signalbox._refuse('max_receives' || p_place, format('is %s: it must be from 1 to 1000', p_max_receives));
  end if;
  if p_expires_at <= clock_timestamp() or p_expires_at > clock_timestamp() + interval '1 year' then
    perform signalbox._refuse(v_field, format('is %s: it must be a time within a year from now', p_expires_at));
  end if;
  if v_delay between 0 and 31536000 and p_expires_at <= clock_timestamp() + v_delay * interval '1 second' then
    perform signalbox._refuse(
      v_field, format('is %s: the message is due later, after its delay of %s seconds', p_expires_at, v_delay)
    );
  end if;
end $$;
