-- Partitions for the whole time that history is kept.
select signalbox._ensure_period(s.table_name, at, at + s.part, 'YYYYMMDDHH24')
from signalbox._history_steps() s,
  generate_series(
    date_bin(s.part, clock_timestamp() - s.kept, timestamptz '2000-01-01 00:00+00'), clock_timestamp(), s.part
  ) at
