-- The number of the next segment of the log that an erasure searches.
select s.segment_number
from signalbox._segments() s (segment_number)
where s.segment_number >= %(part)s and s.segment_number * 1000000 < %(through_message_id)s
order by 1
limit 1
