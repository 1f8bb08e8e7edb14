-- Raise SB424: what is in the way of deleting a queue, as JSON.
create or replace function signalbox._refuse_in_use(p_queue text, p_problem text, p_detail jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'SB424',
    message = format('queue %s %s', quote_literal(p_queue), p_problem),
    detail = p_detail,
    column = 'queue';
end $$;
