-- Attributes that declare a binary payload. A value that is not an object is returned unchanged: send refuses it.
create or replace function signalbox._binary_attributes(p_content_type text, p_attributes jsonb) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(coalesce(p_attributes, '{}')) = 'object'
    then coalesce(p_attributes, '{}') || jsonb_build_object('binary_content_type', p_content_type)
    else p_attributes end
$$;
