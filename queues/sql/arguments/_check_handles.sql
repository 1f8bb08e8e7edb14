-- Check receipt handles: each is 'queue_id.message_id.nonce'. One pattern over all of them is cheap even for a hundred.
create or replace function signalbox._check_handles(p_handles text[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_malformed text;
begin
  if cardinality(p_handles) = 0 or E'\n' || array_to_string(p_handles, E'\n', '')
    ~ '^(\n(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,17})\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})+$'
  then
    return;
  end if;
  if p_handles is null then
    perform signalbox._refuse('receipt_handle', 'is null');
  end if;
  select h
  into v_malformed
  from unnest(p_handles) h
  where h is null
    or h !~ '^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,17})\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
  limit 1;
  perform signalbox._refuse(
    'receipt_handle', format('%s is not a receipt handle', coalesce(quote_literal(left(v_malformed, 80)), 'null'))
  );
end $$;
