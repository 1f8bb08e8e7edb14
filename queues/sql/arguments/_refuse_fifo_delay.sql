-- Raise the refusal of a delay in a FIFO queue.
create or replace function signalbox._refuse_fifo_delay() returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform signalbox._refuse(
    'delay_seconds', 'cannot be given in a FIFO queue: a message that rests would hold up its group'
  );
end $$;
