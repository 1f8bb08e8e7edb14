with sent as (
  insert into textbook.message (payload) select unnest(array_fill(jsonb '$payload', array[$batch])) returning message_id
)
select array_agg(message_id) from sent;
