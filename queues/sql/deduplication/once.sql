-- once(message_id, handler, window_seconds): enter a message in the inbox, in the transaction of a handler's own work.
-- True the first time; false when a transaction that committed has entered it within the window, at most a week, and
-- then the handler skips its work and acknowledges. So a message that is delivered again after a crash between the
-- commit and the ack takes effect once. `handler` names the work that is done once: each handler has its own entries.
-- Upkeep drops old entries by the day. Needs READ COMMITTED.
-- Takes a transaction-scoped advisory lock for (message, handler), then looks in a new statement, so that of two
-- handlers the second waits and sees the first. Index: inbox_message.
create or replace function signalbox.once(
  message_id bigint, handler text default '', window_seconds double precision default 604800
) returns boolean
language plpgsql
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    perform signalbox._refuse_isolation('once');
  end if;
  if once.message_id is null then
    perform signalbox._refuse('message_id', 'is null: which message?');
  end if;
  if once.handler is null or length(once.handler) > 200 then
    perform signalbox._refuse('handler', 'must have at most 200 characters');
  end if;
  if once.window_seconds is null or once.window_seconds not between 1 and 604800 then
    perform signalbox._refuse('window_seconds', format(
      'is %s: it must be from 1 to 604800 (a week)', coalesce(once.window_seconds::text, 'null')
    ));
  end if;
  perform pg_advisory_xact_lock(hashtext('signalbox.once'), hashtext(once.message_id || ' ' || once.handler));
  perform from signalbox.inbox i
  where i.message_id = once.message_id and i.handler = once.handler and i.expires_at > clock_timestamp()
    and i.entered_at > clock_timestamp() - interval '7 days'; -- the longest window; prunes older partitions
  if found then
    return false;
  end if;
  insert into signalbox.inbox (message_id, handler, entered_at, expires_at)
  select once.message_id, once.handler, n.at, n.at + once.window_seconds * interval '1 second'
  from (select clock_timestamp() as at) n;
  return true;
end $$;
