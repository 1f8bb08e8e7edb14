-- Refuse a trash batch that does not exist.
create or replace function signalbox._check_trash_batch(p_trash_batch_id bigint) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if not exists (select from signalbox.trash_batch r where r.trash_batch_id = p_trash_batch_id) then
    perform signalbox._refuse('trash_batch_id', format('is %s: there is no such trash batch', p_trash_batch_id));
  end if;
end $$;
