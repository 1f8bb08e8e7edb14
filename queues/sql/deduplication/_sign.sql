-- The signature of a note that a transaction keeps in a setting: without it the note counts for nothing, since every
-- session can set any setting. It holds for this note in this transaction alone. Null where there is no secret: then no
-- note counts. Index: secret_pkey, or its one page.
create or replace function signalbox._sign(p_note text) returns text
language plpgsql
set plan_cache_mode = force_generic_plan
set search_path = pg_catalog, pg_temp
as $$
begin
  return encode(
    sha256(convert_to((select s.key from signalbox.secret s) || ' ' || pg_current_xact_id() || ' ' || p_note, 'UTF8')),
    'hex'
  );
end $$;
