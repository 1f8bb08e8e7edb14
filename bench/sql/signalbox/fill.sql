select count(*)
from (
  select signalbox.send_batch('$queue', array_fill(jsonb '$payload', array[1000]))
    from generate_series(1, $messages / 1000)
) sent;
