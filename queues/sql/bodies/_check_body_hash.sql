-- Refuse a hash that is not 32 bytes long.
create or replace function signalbox._check_body_hash(p_sha256 bytea) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_sha256 is null or octet_length(p_sha256) <> 32 then
    perform signalbox._refuse(
      'body_sha256', format('has %s bytes: a SHA-256 has 32', coalesce(octet_length(p_sha256)::text, 'no'))
    );
  end if;
end $$;
