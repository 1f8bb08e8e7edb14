-- Check a payload of send, or the payloads of send_batch; each refusal names the argument. No locks, no tables.
create or replace function signalbox._check_payload(p_payload jsonb, p_limit integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._check_payload(p_payload, p_limit, p_payload::text);
end $$;

-- Check a payload whose text the caller has: PostgreSQL takes longer to write the text than to check it.
create or replace function signalbox._check_payload(p_payload jsonb, p_limit integer, p_text text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem text;
begin
  if p_payload is null then
    perform signalbox._refuse('payload', 'is null: a message needs a JSON value');
  end if;
  if signalbox._is_too_large(p_payload, p_text, p_limit) then
    perform signalbox._refuse_too_large(octet_length(p_text), p_limit);
  end if;
  v_problem := signalbox._unreadable(p_payload, p_text);
  if v_problem is not null then
    perform signalbox._refuse('payload', v_problem);
  end if;
end $$;
