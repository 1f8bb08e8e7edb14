-- Return scheduled messages whose due time comes from a clock that was ahead, and when each should be due. The pause of
-- a retry is known from the row of its failure, and the delay of a message that was sent while the server's clock was
-- ahead from the time of the send. due_at is null where the delay is unknown: a message that is due exactly at the
-- clock's time may have had any delay up to that time. Messages that were scheduled before the clock was ahead are left
-- out. A second reset cannot tell which messages the first one has moved, and leaves those.
create or replace function signalbox._scheduled_ahead(p_now timestamptz, p_until timestamptz, p_again boolean)
returns table (tid tid, due_at timestamptz)
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  select a.tid, a.due_at
  from (
    select s.ctid as tid, s.due_at as put_off_to,
      case
        when f.failed_at > p_now and not p_again then p_now + (f.retry_at - f.failed_at)
        when f.failed_at <= p_now then f.retry_at
        when m.sent_at > p_now and not p_again then p_now + greatest(s.due_at - m.sent_at, interval '0')
        when s.due_at <> p_until then s.due_at
      end as due_at
    from signalbox.scheduled s
    left join lateral (
      select f.failed_at, f.retry_at
      from signalbox.failure f
      where f.message_id = s.message_id and f.queue_id = s.queue_id and f.receive_count = s.receive_count
      union all
      select d.deferred_at, d.due_at
      from signalbox.deferral d
      where d.message_id = s.message_id and d.queue_id = s.queue_id and d.receive_count = s.receive_count
      order by 1 desc
      limit 1
    ) f on s.receive_count > 0
    left join lateral (
      select m.sent_at from signalbox.message m where m.queue_id = s.queue_id and m.message_id = s.message_id
    ) m on f.failed_at is null
    where s.due_at > p_now
  ) a
  where a.due_at is distinct from a.put_off_to
$$;
