-- The regular expression for the words of a routing key, each after a dot.
create or replace function signalbox._topic_pattern(p_key text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select '^' || string_agg(
    case w.word
      when '#' then '(\.[^.]*)*'
      when '*' then '\.[^.]+'
      else '\.' || regexp_replace(w.word, '([][\\^$.|?*+(){}])', '\\\1', 'g')
    end, '' order by w.place
  ) || '$'
  from unnest(case when p_key = '' then array[''] else string_to_array(p_key, '.') end) with ordinality w(word, place)
$$;
