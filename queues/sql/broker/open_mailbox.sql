-- open_mailbox(name, keep_seconds, mail_seconds): open a mailbox for messages that only one living process needs, such
-- as replies, or commands to a worker. It is kept for keep_seconds after its owner was last heard of, and mail for
-- mail_seconds. Returns its id: a notification mail/<id> on the channel signalbox_ready says that it has mail. Opening
-- it again keeps its mail. Mail has no leases, and a crash of the database empties mailboxes. Index: mailbox_name_key.
create or replace function signalbox.open_mailbox(
  name text, keep_seconds double precision default 60, mail_seconds double precision default 300
) returns bigint
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_mailbox_id bigint;
begin
  if open_mailbox.name is null or length(open_mailbox.name) not between 1 and 400 then
    perform signalbox._refuse('name', 'must have from 1 to 400 characters');
  end if;
  if open_mailbox.keep_seconds is null or not open_mailbox.keep_seconds between 1 and 604800 then
    perform signalbox._refuse(
      'keep_seconds', format('is %s: it must be from 1 to 604800', coalesce(open_mailbox.keep_seconds::text, 'null'))
    );
  end if;
  if open_mailbox.mail_seconds is null or not open_mailbox.mail_seconds between 1 and 604800 then
    perform signalbox._refuse(
      'mail_seconds', format('is %s: it must be from 1 to 604800', coalesce(open_mailbox.mail_seconds::text, 'null'))
    );
  end if;
  perform signalbox.expire_mailboxes(); -- those of other owners, where no upkeep runs
  insert into signalbox.mailbox as m (name, keep_seconds, mail_seconds, expires_at)
  values (
    open_mailbox.name, open_mailbox.keep_seconds, open_mailbox.mail_seconds,
    clock_timestamp() + open_mailbox.keep_seconds * interval '1 second'
  )
  on conflict (name) do update
  set keep_seconds = excluded.keep_seconds, mail_seconds = excluded.mail_seconds, expires_at = excluded.expires_at
  returning m.mailbox_id into v_mailbox_id;
  return v_mailbox_id;
end $$;
