-- fingerprint(reason, error_class, error, details): the fingerprint that like failures share: the reason, the class,
-- the error without its numbers, ids and quoted values, and the topmost frame of the application's own code in the
-- stack. The version comes first, so that fingerprints of an older version can still be found. Reads a bounded part of
-- each text, with patterns that never backtrack, and raises nothing.
create or replace function signalbox.fingerprint(reason text, error_class text, error text, details text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return 'v2:' || left(encode(sha256(convert_to(concat_ws(
      E'\n', coalesce(reason, ''), coalesce(left(error_class, 200), ''), coalesce(signalbox._normal_error(error), ''),
      coalesce(signalbox._top_frame(details), '')
    ), 'UTF8')), 'hex'), 16);
end $$;

-- Without a stack.
create or replace function signalbox.fingerprint(reason text, error_class text, error text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return signalbox.fingerprint(reason, error_class, error, null);
end $$;
