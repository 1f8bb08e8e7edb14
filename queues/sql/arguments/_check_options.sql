-- Check the options of send and send_batch; each refusal names the argument. No locks, no tables.
create or replace function signalbox._check_options(
  p_attributes jsonb,
  p_priority int,
  p_delay_seconds double precision,
  p_group_id text,
  p_deduplication_id text,
  p_trace_id text
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_priority is null or p_priority not between {priority.lowest} and {priority.highest} then
    perform signalbox._refuse(
      'priority', format('is %s: it must be from 0 to 32767', coalesce(p_priority::text, 'null'))
    );
  end if;
  if p_delay_seconds is null or not p_delay_seconds between 0 and 31536000 then
    perform signalbox._refuse(
      'delay_seconds', format('is %s: it must be from 0 to 31536000 (a year)', coalesce(p_delay_seconds::text, 'null'))
    );
  end if;
  if jsonb_typeof(p_attributes) <> 'object' then
    perform signalbox._refuse('attributes', format('is a JSON %s: it must be an object', jsonb_typeof(p_attributes)));
  end if;
  if octet_length(p_attributes::text) > 16384 then
    perform signalbox._refuse('attributes', 'is above 16384 bytes of JSON');
  end if;
  if octet_length(p_attributes::text) > 256 then
    perform signalbox._check_readable('attributes', p_attributes);
  end if;
  if length(p_group_id) not between 1 and 200 then
    perform signalbox._refuse('group_id', 'must have from 1 to 200 characters');
  end if;
  if length(p_deduplication_id) not between 1 and 200 then
    perform signalbox._refuse('deduplication_id', 'must have from 1 to 200 characters');
  end if;
  if length(p_trace_id) not between 1 and 200 then
    perform signalbox._refuse('trace_id', 'must have from 1 to 200 characters');
  end if;
  if p_trace_id ~ '[\u0001-\u001f\u007f-\u009f]' then
    perform signalbox._refuse('trace_id', 'has a control character: use printable characters');
  end if;
end $$;
