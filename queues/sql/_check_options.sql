-- What send and send_batch accept beside a small payload; each refusal names the argument. No locks, no tables.
create or replace function signalbox._check_payload(p_payload jsonb, p_limit integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._check_payload(p_payload, p_limit, p_payload::text);
end $$;

-- The same for callers that have the payload's text: PostgreSQL takes longer to write it than to look at it.
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
  if octet_length(p_text) > p_limit then
    perform signalbox._refuse_too_large(octet_length(p_text), p_limit);
  end if;
  v_problem := signalbox._unreadable(p_payload, p_text);
  if v_problem is not null then
    perform signalbox._refuse('payload', v_problem);
  end if;
end $$;

-- Refuses what clients cannot read.
create or replace function signalbox._check_readable(p_field text, p_value jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_problem text := signalbox._unreadable(p_value, p_value::text);
begin
  if v_problem is not null then
    perform signalbox._refuse(p_field, v_problem);
  end if;
end $$;

-- Why clients cannot read this JSON, though PostgreSQL stores it; null when they can. It has more than 128 levels of arrays
-- and objects, or a number of more than 1,000 characters when written out, as 1e5000 is. signalbox/payloads.py has the same
-- limits. JSON text of up to 256 bytes can have neither, so callers need only ask about longer ones. Linear. The text is the value's.
create or replace function signalbox._unreadable(p_value jsonb, p_text text) returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bytes bytea;
  v_place integer;
  v_run integer := 0;
  v_longest integer;
begin
  if p_text is null or octet_length(p_text) <= 256 then
    return null;
  end if;
  if jsonb_path_exists(p_value, 'strict $.**{128} ? (@.type() == "array" || @.type() == "object")') then
    return 'is nested too deeply: at most 128 levels';
  end if;
  if octet_length(p_text) <= 1000 then
    return null;
  end if;
  -- A number of 1,001 characters covers one of the places that are 1,000 bytes apart, and ten in a row of those that are 100
  -- apart. All its characters are from '-' to '9'. To look there costs less than any look at the whole text.
  v_bytes := convert_to(p_text, 'UTF8');
  v_place := 1000;
  while v_place < octet_length(v_bytes) loop
    if get_byte(v_bytes, v_place) between 45 and 57 then
      v_run := 1;
      exit;
    end if;
    v_place := v_place + 1000;
  end loop;
  if v_run = 0 then
    return null;
  end if;
  v_run := 0;
  v_place := v_place - 1000;
  while v_place < octet_length(v_bytes) and v_run < 10 loop
    v_run := case when get_byte(v_bytes, v_place) between 45 and 57 then v_run + 1 else 0 end;
    v_place := v_place + 100;
  end loop;
  if v_run = 10 then
    select max(octet_length(n::text)) into v_longest
    from jsonb_path_query(p_value, 'strict $.** ? (@.type() == "number")') n;
    if v_longest > 1000 then
      return format('has a number of %s characters, written out: at most 1000', v_longest);
    end if;
  end if;
  return null;
end $$;

-- The value; in place of one that clients cannot read, its JSON text as a string. For what was stored before it was refused.
create or replace function signalbox._made_readable(p_value jsonb) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if signalbox._unreadable(p_value, p_value::text) is null then
    return p_value;
  end if;
  return case jsonb_typeof(p_value)
    when 'object' then jsonb_build_object('unreadable', p_value::text)
    else to_jsonb(p_value::text)
  end;
end $$;

-- A trace id without the control characters that are refused now.
create or replace function signalbox._printable(p_trace_id text) returns text
language sql
set search_path = pg_catalog, pg_temp
as $$
  select nullif(regexp_replace(p_trace_id, '[\u0001-\u001f\u007f-\u009f]', '', 'g'), '')
$$;

create or replace function signalbox._check_options(
  p_attributes jsonb,
  p_priority int,
  p_delay_seconds double precision,
  p_group_id text,
  p_deduplication_id text,
  p_trace_id text
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
  if octet_length(p_attributes::text) > 256 then
    perform signalbox._check_readable('attributes', p_attributes);
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
  if p_trace_id ~ '[\u0001-\u001f\u007f-\u009f]' then
    perform signalbox._refuse('trace_id', 'has a control character: use printable characters');
  end if;
end $$;

-- What came of the work, for history: as many as there are handles.
create or replace function signalbox._check_results(p_results jsonb[], p_handles integer) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
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
  if v_bytes > 256 then
    perform signalbox._check_readable('results', r) from unnest(p_results) r;
  end if;
end $$;

-- Receipt handles are 'queue_id.message_id.nonce'. One pattern over all of them: cheap even for a hundred.
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
  where h is null or h !~ '^(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,17})\.[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$'
  limit 1;
  perform signalbox._refuse('receipt_handle', format('%s is not a receipt handle', coalesce(quote_literal(left(v_malformed, 80)), 'null')));
end $$;
