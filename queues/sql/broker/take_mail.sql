-- take_mail(mailboxes, max_messages): take the messages out of these mailboxes, oldest first. Mail that is too old is
-- dropped. Two callers share the work and never wait. Indexes: mailbox_name_key, mail_pkey.
create or replace function signalbox.take_mail(mailboxes text[], max_messages integer default 100)
returns table (mailbox text, body jsonb)
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
  with taken as (
    delete from signalbox.mail l
    where (l.mailbox_id, l.mail_id) in (
      select o.mailbox_id, o.mail_id
      from signalbox.mailbox m
      cross join lateral (
        select l.mailbox_id, l.mail_id
        from signalbox.mail l
        where l.mailbox_id = m.mailbox_id
        order by l.mail_id
        limit take_mail.max_messages
        for update skip locked
      ) o
      where m.name = any(take_mail.mailboxes)
    )
    returning l.mailbox_id, l.mail_id, l.body, l.expires_at
  )
  select m.name, t.body
  from taken t
  join signalbox.mailbox m on m.mailbox_id = t.mailbox_id
  where t.expires_at > clock_timestamp()
  order by t.mail_id;
end $$;
