-- Return whether this batch is new: then its row says that it is written, once the transaction commits.
create or replace function signalbox._enter_ledger(p_writer text, p_target text, p_batch bigint, p_messages bigint)
returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if length(p_writer) not between 1 and 200 then
    perform signalbox._refuse('writer', 'must have from 1 to 200 characters');
  end if;
  if p_batch is null or p_batch < 0 then
    perform signalbox._refuse('batch', format('is %s: it must be zero or more', coalesce(p_batch::text, 'null')));
  end if;
  insert into signalbox.write_ledger as l (writer, target, batch, messages)
  values (p_writer, p_target, p_batch, p_messages)
  on conflict (writer, target) do update
  set batch = excluded.batch, messages = excluded.messages, written_at = clock_timestamp()
  where l.batch < excluded.batch;
  return found;
end $$;
