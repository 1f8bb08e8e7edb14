insert into textbook.message (payload)
select unnest(array_fill(jsonb '$payload', array[1000])) from generate_series(1, $messages / 1000);
