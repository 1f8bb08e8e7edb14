-- Return the receipt handles of the leases that messages have now, in whichever session they were read: pgmq names a
-- message by its id alone. Index: lease_pkey.
create or replace function pgmq._handles(p_queue_id integer, p_ids bigint[]) returns text[]
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select array(
    select l.queue_id || '.' || l.message_id || '.' || l.nonce
    from signalbox.lease l
    where l.message_id = any(p_ids) and l.queue_id + 0 = p_queue_id
  )
$$;
