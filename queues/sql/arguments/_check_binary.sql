-- Check a message whose attributes declare a binary payload: the attribute binary_content_type is the type of its
-- bytes, as image/png, and the payload is a JSON string of them in base64. A large body has been checked by its sender.
create or replace function signalbox._check_binary(p_payload jsonb, p_attributes jsonb, p_is_large boolean)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_type text := case when jsonb_typeof(p_attributes -> 'binary_content_type') = 'string'
    then p_attributes ->> 'binary_content_type' end;
  v_text text := case when jsonb_typeof(p_payload) = 'string' then p_payload #>> '{}' end;
begin
  if (length(v_type) <= 200 and v_type ~ '^[A-Za-z0-9][\w!#$&^.+-]*/[A-Za-z0-9][\w!#$&^.+-]*( *;[ -~]*)?$') is not true
  then
    perform signalbox._refuse(
      'content_type', format('is %s: it must be a type and a subtype of up to 200 characters, as image/png',
        coalesce(left(p_attributes ->> 'binary_content_type', 80), 'null'))
    );
  end if;
  if not p_is_large and (length(v_text) % 4 = 0 and v_text ~ '^[A-Za-z0-9+/]*={0,2}$') is not true then
    perform signalbox._refuse('payload', 'is not base64: the attribute binary_content_type says that it is bytes');
  end if;
end $$;
