-- metrics(queue_name): the numbers of one queue. total_messages counts all messages that were ever sent;
-- newest_msg_age_sec is the age of the last one, as long as the queue has messages.
create or replace function pgmq.metrics(queue_name text) returns pgmq.metrics_result
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_queue_id integer := pgmq._queue_id(metrics.queue_name);
  v_totals bigint[];
  v_now timestamptz := clock_timestamp();
  v_result pgmq.metrics_result;
begin
  select t.totals into v_totals from signalbox.queue_totals(array[v_queue_id]) t;
  v_result.queue_name := metrics.queue_name;
  v_result.queue_visible_length := {depth.ready:v_totals};
  v_result.queue_length := v_result.queue_visible_length + {depth.leased:v_totals} + {depth.scheduled:v_totals}
    + {depth.waiting:v_totals};
  v_result.total_messages := {total.published:v_totals};
  v_result.scrape_time := v_now;
  v_result.default_partition_length := 0;
  if v_result.queue_length > 0 then
    select extract(epoch from v_now - m.sent_at)::int into v_result.newest_msg_age_sec
    from signalbox.message m
    where m.queue_id = v_queue_id
    order by m.message_id desc
    limit 1;
    select extract(epoch from v_now - o.at)::int into v_result.oldest_msg_age_sec
    from signalbox._oldest_visible(v_queue_id) o;
  end if;
  return v_result;
end $$;
