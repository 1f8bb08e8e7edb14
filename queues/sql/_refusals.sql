-- How verbs say no: one function for each kind of refusal, so that each has one SQLSTATE and one wording.
-- The column of the error names the argument or setting at fault. No locks; of tables only what says another name.
create or replace function signalbox._refuse_unknown_queue(p_queue text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_alias record;
begin
  select q.name, a.renamed_at into v_alias
  from signalbox.queue_alias a
  join signalbox.queue q on q.queue_id = a.queue_id
  where a.name = p_queue;
  if found then
    raise exception using
      errcode = 'SB404',
      message = format('queue %s does not exist: it is called %s since %s', quote_literal(p_queue), quote_literal(v_alias.name),
        to_char(v_alias.renamed_at at time zone 'UTC', 'YYYY-MM-DD')),
      hint = 'Use the new name.',
      column = 'queue';
  end if;
  raise exception using
    errcode = 'SB404',
    message = format('queue %s does not exist', coalesce(quote_literal(left(p_queue, 120)), 'null')),
    hint = 'Make it with signalbox.create_queue(name).',
    column = 'queue';
end $$;

create or replace function signalbox._refuse(p_field text, p_problem text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB400',
    message = format('%s %s', p_field, p_problem),
    column = p_field;
end $$;

create or replace function signalbox._refuse_too_large(p_bytes bigint, p_limit bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB413',
    message = format('payload is %s bytes of JSON, above the limit of %s', p_bytes, p_limit),
    column = 'payload';
end $$;

create or replace function signalbox._refuse_closed(p_queue text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if exists (select from signalbox.queue q where q.name = p_queue and q.guards & 16 > 0 and not q.closed) then
    perform signalbox._refuse_in_maintenance();
  end if;
  perform nextval(r.counter)
  from signalbox.queue q
  join signalbox.refusal r on r.queue_id = q.queue_id and r.reason = 'closed'
  where q.name = p_queue;
  raise exception using
    errcode = 'SB423',
    message = format('queue %s is closed: it accepts no messages', quote_literal(p_queue)),
    column = 'queue';
end $$;

create or replace function signalbox._refuse_isolation(p_verb text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB425',
    message = format('%s needs a READ COMMITTED transaction, this one is %s', p_verb, upper(current_setting('transaction_isolation'))),
    hint = 'It must see what others have just committed. Call it in a transaction of its own.';
end $$;

-- A lease that an older snapshot does not show may be held all the same: then nobody can say that it is not.
create or replace function signalbox._refuse_older_snapshot(p_verb text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation(p_verb || ', where a lease is not held or younger than the snapshot,');
  end if;
end $$;

create or replace function signalbox._refuse_fifo_delay() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._refuse('delay_seconds', 'cannot be given in a FIFO queue: a message that rests would hold up its group');
end $$;

create or replace function signalbox._refuse_other_body(p_deduplication_id text, p_first_id bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB409',
    message = format('deduplication_id %s was sent with another body', quote_literal(p_deduplication_id)),
    detail = p_first_id::text,
    hint = 'The detail is the id of the first message. Use another deduplication id for another message.',
    column = 'deduplication_id';
end $$;

-- What is above its limit, whose limit it is, and in how many seconds to try again: null, it would never go.
create or replace function signalbox._refuse_quota(
  p_who text,
  p_scope text,
  p_reason text,
  p_limit_name text,
  p_limit double precision,
  p_actual double precision,
  p_retry_after double precision
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB429',
    message = format('%s of %s is %s, and this would make it %s', p_limit_name, p_who, p_limit::numeric, round(p_actual::numeric, 3)),
    detail = json_build_object(
      'reason', p_reason, 'limit', p_limit, 'actual', p_actual, 'retry_after', p_retry_after, 'scope', p_scope
    ),
    hint = case
      when p_retry_after is null then 'It would not go later either: ask for less, or raise the limit.'
      else format('Try again in %s s.', trim_scale(round(p_retry_after::numeric, 3)))
    end,
    column = p_limit_name;
end $$;

-- The same of what a tenant asks for and no queue's sends: counted, though what is refused rolls back.
create or replace function signalbox._refuse_tenant(
  p_tenant signalbox.tenant,
  p_reason text,
  p_limit_name text,
  p_limit double precision,
  p_actual double precision,
  p_retry_after double precision
) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform nextval(r.counter) from signalbox.tenant_refusal r where r.tenant_id = p_tenant.tenant_id and r.reason = p_reason;
  perform signalbox._refuse_quota(
    'tenant ' || quote_literal(p_tenant.name), 'tenant', p_reason, p_limit_name, p_limit, p_actual, p_retry_after
  );
end $$;
