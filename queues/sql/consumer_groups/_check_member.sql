-- Check the name of a member and its lease_seconds.
create or replace function signalbox._check_member(p_group text, p_feeds boolean, p_member text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(p_member) not between 1 and 200 or p_member is null then
    perform signalbox._refuse('member', 'must have from 1 to 200 characters');
  end if;
  if p_feeds then
    perform signalbox._refuse('group_name', format('%s feeds a queue: receive from that', quote_literal(p_group)));
  end if;
end $$;
