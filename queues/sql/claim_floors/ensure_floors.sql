-- ensure_floors(token, queue_ids): give every claim floor of these queues a sequence that holds it, and remove
-- duplicate rows that first senders of a priority may have left. Never waits: rows that another transaction holds,
-- because it deletes their queue, are left for the next call, and so is a floor whose sequence cannot be made.
create or replace function signalbox.ensure_floors(token uuid, queue_ids integer[]) returns integer
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_head record;
  v_name text;
  v_made integer := 0;
begin
  if not signalbox._leads(ensure_floors.token) then
    return null;
  end if;
  delete from signalbox.claim_floor h
  using (
    select d.ctid as tid, row_number() over (partition by d.queue_id, d.kind order by d.floor nulls last, d.ctid) as n
    from signalbox.claim_floor d
    where d.queue_id = any(ensure_floors.queue_ids)
  ) twice
  where h.ctid = any(array(
    select d.ctid from signalbox.claim_floor d where d.ctid = twice.tid and twice.n > 1 for update skip locked
  ));
  for v_head in
    select h.queue_id, h.kind
    from signalbox.claim_floor h
    where h.queue_id = any(ensure_floors.queue_ids) and h.floor is null
    order by h.queue_id, h.kind
    for update skip locked
  loop
    begin
      -- A code below zero is that of a table: its sequence is named t1 and not -1, which would need quotes.
      v_name := format('signalbox.floor_%s_%s', v_head.queue_id, replace(v_head.kind::text, '-', 't'));
      execute format('create sequence if not exists %s minvalue 0', v_name);
      -- Before PostgreSQL 18 reading another role's sequence is an error, which would stop that role's claims.
      execute format('grant select on sequence %s to public', v_name);
      perform setval(v_name, 0);
      update signalbox.claim_floor h
      set floor = v_name::regclass
      where h.queue_id = v_head.queue_id and h.kind = v_head.kind;
      v_made := v_made + 1;
    exception
      when read_only_sql_transaction then
        raise;
      when others then
        perform signalbox._pass_over('ensure_floors', v_head.queue_id, sqlstate, sqlerrm);
    end;
  end loop;
  return v_made;
end $$;
