-- Return the facts of an anchor in the form that the audit's row about the pruning has.
create or replace function signalbox._anchor_facts(
  p_position bigint, p_hash bytea, p_rows bigint, p_export text, p_export_sha256 bytea
) returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_build_object(
    'through', p_position, 'hash', encode(p_hash, 'hex'), 'rows', p_rows, 'export', p_export, 'sha256',
    encode(p_export_sha256, 'hex')
  )
$$;
