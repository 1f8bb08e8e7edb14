-- expire_mailboxes(): delete mailboxes whose owner has not been heard of in time, and mail that was not fetched in
-- time. Returns how many of both. At most 100 mailboxes and 10,000 messages a call; never waits. Index: mailbox_expiry.
create or replace function signalbox.expire_mailboxes() returns integer
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_mailboxes integer;
  v_mail integer;
begin
  delete from signalbox.mailbox m
  where m.mailbox_id = any(array(
    select e.mailbox_id
    from signalbox.mailbox e
    where e.expires_at < clock_timestamp()
    order by e.expires_at
    limit 100
    for update skip locked
  ));
  get diagnostics v_mailboxes = row_count;
  delete from signalbox.mail l
  where (l.mailbox_id, l.mail_id) in (
    select o.mailbox_id, o.mail_id
    from signalbox.mailbox m
    cross join lateral (
      select l.mailbox_id, l.mail_id
      from signalbox.mail l
      where l.mailbox_id = m.mailbox_id and l.expires_at < clock_timestamp()
      order by l.mail_id
      limit 100
      for update skip locked
    ) o
    limit 10000
  );
  get diagnostics v_mail = row_count;
  return v_mailboxes + v_mail;
end $$;
