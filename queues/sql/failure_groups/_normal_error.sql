-- An error without the parts that differ between two occurrences. In the "C" collation, so that every server sees the
-- same words.
create or replace function signalbox._normal_error(p_error text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return left(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
      left(p_error, 2000) collate "C",
      -- a quoted value whose end was cut off
      case when length(p_error) > 2000 then '"[^"]*$|^$' else '^$' end, '"*"', ''),
      -- the path of a URL; its host stays
      '([a-z][a-z0-9+.-]*://[^\s/?#"''()<>]+)[^\s"''()<>]*', '\1', 'gi'),
      -- quoted values
      '"[^"]*"|`[^`]*`|(?<![a-z0-9])''[^'']*''(?![a-z0-9])'
      || '|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'                                  -- uuids
      || '|[a-z0-9_.+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)*'                                                     -- e-mail
      -- moments
      || '|\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:z|utc|[+-]\d\d:?\d\d))?)?(?![a-z0-9])'
      || '|(?<![a-z0-9])[0-9a-f]{1,4}:(?:[0-9a-f]{0,4}:)+[0-9a-f]{0,4}(?![a-z0-9])'                       -- IPv6, MAC
      || '|0x[0-9a-f]+|(?<![a-z0-9])[0-9a-f]{8,}(?![a-z0-9])'                                             -- hexadecimal
      || '|(?<![a-z0-9._*~-])(?:[a-z]:)?(?:[/\\][a-z0-9_.@%+~*-]+){2,}[/\\]?'                             -- paths
      || '|[a-z]*\d+[a-z]+\d[a-z0-9]*'                                                                    -- mixed ids
      -- numbers, with units
      || '|[+-]?\d+(?:[.,_]\d+)*(?:e[+-]?\d+)?(?:st|nd|rd|th)?(?:%|\s?(?:ns|us|µs|ms|s|secs?|seconds?'
      || '|m|mins?|minutes?|h|hrs?|hours?|d|days?|bytes?|[kmgt]?i?b)(?![a-z0-9_]))?',
      '*', 'gi'),
      -- lists of them
      '\*(?:[\s,;]*\*)+', '*', 'g'),
      '\s+', ' ', 'g'), 500);
end $$;
