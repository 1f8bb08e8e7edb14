-- What failures have in common: reason, class and message with its numbers, ids and quoted values taken out.
-- The version stands in front, so that a better normalisation can live beside an older one.
create or replace function signalbox.fingerprint(reason text, error_class text, error text) returns text
language sql immutable as $$
  select 'v1:' || left(md5(concat_ws(E'\n', reason, error_class, regexp_replace(
    left(error, 500), '("[^"]*"|''[^'']*''|[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|\d+)', '*', 'gi'
  ))), 16)
$$;
