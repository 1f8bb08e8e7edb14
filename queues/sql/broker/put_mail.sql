-- put_mail(mailbox, body): put a message into a mailbox. Returns false when there is none: then no process needs the
-- message. It is kept for the mail_seconds of the mailbox, or less by its own properties.expiration, in milliseconds,
-- as AMQP writes it. Where the mailbox was empty its owner is notified after the commit, with mail/<id> on the channel
-- signalbox_ready; NOTIFY takes a lock of the whole server, and one notification is enough. Indexes: mailbox_name_key,
-- mail_pkey.
create or replace function signalbox.put_mail(mailbox text, body jsonb) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_mailbox signalbox.mailbox;
  v_own_seconds double precision := substring(put_mail.body #>> '{properties,expiration}' from '^[0-9]{1,15}$')::float8
    / 1000;
begin
  if put_mail.body is null or octet_length(put_mail.body::text) > 1048576 then
    perform signalbox._refuse('body', 'must be a JSON value of at most 1048576 bytes');
  end if;
  perform signalbox._check_readable('body', put_mail.body);
  select * into v_mailbox from signalbox.mailbox m where m.name = put_mail.mailbox for key share;
  if not found then
    return false;
  end if;
  if not exists (select from signalbox.mail l where l.mailbox_id = v_mailbox.mailbox_id) then
    perform pg_notify('signalbox_ready', 'mail/' || v_mailbox.mailbox_id);
  end if;
  insert into signalbox.mail (mailbox_id, body, expires_at)
  values (
    v_mailbox.mailbox_id,
    put_mail.body,
    clock_timestamp() + least(v_mailbox.mail_seconds, v_own_seconds) * interval '1 second'
  );
  return true;
end $$;
