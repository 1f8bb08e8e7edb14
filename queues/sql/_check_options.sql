-- What send and send_batch accept beside a small payload; each refusal names the argument. No locks, no tables.
create or replace function signalbox._check_payload(p_payload jsonb, p_limit integer) returns void
language plpgsql as $$
begin
  if p_payload is null then
    perform signalbox._refuse('payload', 'is null: a message needs a JSON value');
  end if;
  if octet_length(p_payload::text) > p_limit then
    perform signalbox._refuse_too_large(octet_length(p_payload::text), p_limit);
  end if;
end $$;

create or replace function signalbox._check_options(
  p_attributes jsonb,
  p_priority int,
  p_delay_seconds double precision,
  p_group_id text,
  p_deduplication_id text,
  p_trace_id text
) returns void
language plpgsql as $$
begin
  if p_priority is null or p_priority not between 0 and 9 then
    perform signalbox._refuse('priority', format('is %s: it must be from 0 to 9', coalesce(p_priority::text, 'null')));
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
  if length(p_group_id) not between 1 and 200 then
    perform signalbox._refuse('group_id', 'must have from 1 to 200 characters');
  end if;
  if length(p_deduplication_id) not between 1 and 200 then
    perform signalbox._refuse('deduplication_id', 'must have from 1 to 200 characters');
  end if;
  if length(p_trace_id) not between 1 and 200 then
    perform signalbox._refuse('trace_id', 'must have from 1 to 200 characters');
  end if;
end $$;

-- What came of the work, for history: as many as there are handles.
create or replace function signalbox._check_results(p_results jsonb[], p_handles integer) returns void
language plpgsql as $$
declare
  v_bytes integer;
begin
  if cardinality(p_results) <> coalesce(p_handles, 0) then
    perform signalbox._refuse('results', format('has %s entries for %s receipt handles', cardinality(p_results), coalesce(p_handles, 0)));
  end if;
  select max(octet_length(r::text)) into v_bytes from unnest(p_results) r;
  if v_bytes > 65536 then
    perform signalbox._refuse('results', format('has one of %s bytes of JSON: at most 65536', v_bytes));
  end if;
end $$;

-- Receipt handles are 'queue_id.message_id.nonce'. One pattern over all of them: cheap even for a hundred.
create or replace function signalbox._check_handles(p_handles text[]) returns void
language plpgsql as $$
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
  where h is null or h !~ '^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,17})\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
  limit 1;
  perform signalbox._refuse('receipt_handle', format('%s is not a receipt handle', coalesce(quote_literal(left(v_malformed, 80)), 'null')));
end $$;
