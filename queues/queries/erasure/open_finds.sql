-- Number of messages that an erasure has not finished, by their present state; at most the first thousand.
select f.became, count(*)
from (
  select f.became from signalbox.erasure_find f where f.erasure_id = %s and f.open limit 1000
) f
group by f.became
